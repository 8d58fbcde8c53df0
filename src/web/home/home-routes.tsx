import type { App } from '../../http/fastify-app.js'
import { sendPage } from '../layout.js'
import type { WebsiteOptions } from '../ports.js'
import { HomePage } from './home-page.js'

/** The front page; who is signed in goes on to the playground. */
export function homeRoutes(app: App, { baseUrl }: WebsiteOptions): void {
  app.get('/', async ({ signedIn }, reply) =>
    signedIn ? reply.redirect('/playground', 303) : sendPage(reply, <HomePage baseUrl={baseUrl} />),
  )
}
