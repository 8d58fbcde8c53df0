import { z } from 'zod'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { LogPage } from './log-page.js'

const LIMIT = 50
const query = z.object({ before: z.coerce.number().int().min(1).optional().catch(undefined) })

/** What operators have done. */
export function logRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/operator/log', { schema: { querystring: query } }, async (request, reply) => {
    const { before } = request.query
    const page = await ports.operatorActions.list({ limit: LIMIT, after: before === undefined ? undefined : [before] })
    return sendPage(reply, <LogPage page={page} isFirst={before === undefined} signedIn={sessionOf(request)} />)
  })
}
