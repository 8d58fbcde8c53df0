import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sampleModelId } from '../../shared/sample-model.js'
import { HomePage } from './home-page.js'

/** The front page; who is signed in goes on to the playground. */
export function homeRoutes(app: App, { baseUrl, ports }: WebsiteOptions): void {
  app.get('/', async ({ signedIn }, reply) => {
    if (signedIn) return reply.redirect('/playground', 303)
    return sendPage(reply, <HomePage baseUrl={baseUrl} modelVersionId={await sampleModelId(ports.models)} />)
  })
}
