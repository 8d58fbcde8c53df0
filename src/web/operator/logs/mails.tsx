import type { UnsentMail } from '../../../core/accounts/account-mails.js'
import { LINK_MINUTES, type SignedIn } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { Moment } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'

/** What a service without a mail server would have sent. */
export function mailsRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/operator/mails', async (request, reply) =>
    sendPage(reply, <MailsPage mails={await ports.unsentMails.list()} signedIn={sessionOf(request)} />),
  )
}

/** The mails that nobody sent, for the operator to pass on. */
const MailsPage = ({ mails, signedIn }: { mails: readonly UnsentMail[]; signedIn: SignedIn }) => (
  <OperatorLayout title="Mails to pass on" signedIn={signedIn} path="/operator/mails">
    <p class="quiet">
      These mails were not sent, because <code>SMTP_URL</code> is not set. Send them yourself to whom they are for: a
      link signs whoever opens it in to that account. They go after a day, but their links end in {LINK_MINUTES}{' '}
      minutes: the page of the account under <a href="/operator/users">Users</a> makes one that lasts.
    </p>
    {mails.length === 0 ? (
      <section class="card empty">
        <p>Nobody has asked for a link in the last day.</p>
      </section>
    ) : (
      mails.map(({ to, subject, text, createdAt }, n) => (
        <article class="card stack" aria-labelledby={`mail-${n}`}>
          <div class="row apart">
            <h2 id={`mail-${n}`}>
              <bdi>{to}</bdi>
            </h2>
            <span class="quiet small">
              <Moment at={createdAt} />
              {createdAt.getTime() + LINK_MINUTES * 60_000 <= Date.now() && <span class="badge bad">link ended</span>}
            </span>
          </div>
          <p>{subject}</p>
          <pre id={`text-${n}`} class="letter">
            {text}
          </pre>
          <div class="row">
            <button class="small" type="button" data-copy={`#text-${n}`}>
              Copy
            </button>
          </div>
        </article>
      ))
    )}
  </OperatorLayout>
)
