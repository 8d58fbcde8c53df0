import { z } from 'zod'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { UsersPage } from './users-page.js'

const USERS_PER_PAGE = 50

const query = z.object({
  q: z
    .string()
    .catch('')
    .transform((text) => text.trim().slice(0, 254)),
  deleted: z
    .string()
    .catch('')
    .transform((text) => text === 'yes'),
  after: z
    .string()
    .regex(/^[a-z0-9._@+-]{1,64}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    .optional()
    .catch(undefined),
})

/** The list of users. */
export function usersRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/operator/users', { schema: { querystring: query } }, async (request, reply) => {
    const { q, deleted, after } = request.query
    // A zero character is in no name, and Postgres takes none.
    const text = q.replaceAll('\0', '')
    const found = await ports.administration.accounts.search({ text, deleted }, { limit: USERS_PER_PAGE, after })
    const page = { text, deleted, isFirst: after === undefined, signedIn: sessionOf(request), ...found }
    return sendPage(reply, <UsersPage {...page} />)
  })
}
