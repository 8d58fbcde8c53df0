import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { MailsPage } from './mails-page.js'

/** What a service without a mail server would have sent. */
export function mailsRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/operator/mails', async (request, reply) =>
    sendPage(reply, <MailsPage mails={await ports.unsentMails.list()} signedIn={sessionOf(request)} />),
  )
}
