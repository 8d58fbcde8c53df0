import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { DaySpending, SpendingEntry } from '../../../core/accounts/ledger.js'
import type { NoticeMail } from '../../../core/accounts/notices.js'
import { changePassword } from '../../../core/accounts/password.js'
import type { CurrentPeriod } from '../../../core/accounts/plan.js'
import type { Session, SignedIn } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import type { RetentionDays } from '../../../core/generations/retention.js'
import { statusOf } from '../../../http/shared/error-bodies.js'
import type { App } from '../../../http/shared/fastify-app.js'
import * as field from '../../../http/shared/fields.js'
import type { Cursor } from '../../../lib/page.js'
import { NewPasswordField, OwnName, PasswordField } from '../../parts/account-fields.js'
import { DayChart } from '../../parts/day-chart.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Outlook } from '../../parts/outlook.js'
import { Notices, StatusBadge } from '../../parts/page-parts.js'
import { PlanLink } from '../../parts/site-links.js'
import { Moment } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { type SessionCookie, sessionOf } from '../../shared/session-cookie.js'
import { inWords } from '../../texts/refusals.js'
import { type Language, useTexts } from '../../texts/texts.js'
import { Billing, type BillingView } from './billing.js'
import { billingRoutes, billingView, paidQuery, reloadUntilConfirmed } from './billing-routes.js'
import { CreditHistory } from './credit-history.js'
import { deleteAccountRoutes } from './delete-page.js'
import { EmailAddress, type EmailView, emailAddressRoutes, linkSent } from './email-address.js'
import { ExportForm, exportRoutes } from './export.js'
import { LanguageForm, languageRoutes } from './language.js'
import { MailSettings, mailSettingsRoutes } from './mail-settings.js'
import { NewImages, newImagesRoutes } from './new-images.js'
import { Sessions, sessionRoutes } from './own-sessions.js'

interface AccountView extends EmailView {
  readonly signedIn: SignedIn
  readonly keyPrefix: string
  /** In which the site may be read. */
  readonly languages: readonly Language[]
  readonly takesPasswords: boolean
  readonly hasPassword: boolean
  readonly sessions: readonly Session[]
  readonly current: CurrentPeriod | undefined
  /** Undefined: none are sent here. */
  readonly mailsOff: readonly NoticeMail[] | undefined
  readonly kept: RetentionDays
  readonly days: readonly DaySpending[]
  readonly entries: readonly SpendingEntry[]
  readonly older: string | null
  readonly later: boolean
  /** What was done just now. */
  readonly done?: string | undefined
  /** Why the password was not changed. */
  readonly problem?: string | undefined
  /** Where something is sold. */
  readonly billing?: BillingView | undefined
  /** Why nothing was bought. */
  readonly refused?: string | undefined
}

/** Credits and what they went to, plan, password and sessions. */
const AccountPage = (view: AccountView) => {
  const { signedIn, days, done, billing, refused } = view
  const { username, subscription } = signedIn.caller.account
  const { account: words } = useTexts()
  return (
    <Layout title={words.title} signedIn={signedIn} path="/account" class="column" style="account.css">
      <div class="stack heading">
        <h1>{words.title}</h1>
        <p class="lead">
          <bdi>{username}</bdi>
          {signedIn.email && (
            <>
              {' · '}
              <bdi>{signedIn.email}</bdi>
            </>
          )}
        </p>
      </div>
      <Notices done={done} problem={refused} />
      <Holdings {...view} />
      {billing && <Billing {...billing} isOver={subscription?.status === 'expired'} />}
      <div class="halves">
        <div class="stack">
          <EmailAddress {...view} />
          {view.mailsOff && <MailSettings off={view.mailsOff} email={signedIn.email} />}
          <NewImages signedIn={signedIn} />
          {view.languages.length > 1 && <LanguageForm offered={view.languages} chosen={signedIn.language} />}
        </div>
        <div class="stack">
          {view.takesPasswords && <Password {...view} />}
          <Sessions {...view} />
          <ExportForm kept={view.kept} />
        </div>
      </div>
      <DayChart id="spending" title={words.spent} noun="credit" days={days} valueOf={({ spent }) => spent} />
      <CreditHistory {...view} />
      <p class="quiet">
        <a href="/account/delete">{words.remove}</a>
      </p>
    </Layout>
  )
}

const Holdings = ({ signedIn, current, billing }: AccountView) => {
  const { credits, subscription } = signedIn.caller.account
  // What is paid for says when it renews, which is before the days of grace are over.
  const { account: words, number } = useTexts()
  const isRenewed = subscription?.status === 'active' && billing?.own?.status === 'active' && !billing.own.endsAt
  return (
    <div class="tiles">
      <section class="card tile" aria-labelledby="held">
        <h2 id="held" class="quiet">
          {words.held.title}
        </h2>
        <b class={credits < 0 ? 'bad' : undefined}>{number(credits)}</b>
        {credits < 0 && <p class="small">{words.held.owed(-credits)}</p>}
        {current && <Outlook of={current} />}
        <p class="small quiet">{words.held.price}</p>
      </section>
      <section class="card tile" aria-labelledby="plan">
        <h2 id="plan" class="quiet">
          {words.plan.title}
        </h2>
        <b>{subscription ? <bdi>{subscription.plan}</bdi> : words.plan.none}</b>
        <p class="small">
          {subscription ? (
            <>
              <StatusBadge status={subscription.status} />{' '}
              {!isRenewed && (
                <span class="quiet">
                  {words.plan[subscription.status === 'expired' ? 'since' : 'until'](
                    <Moment at={subscription.endDate} only="date" />,
                  )}
                </span>
              )}
            </>
          ) : (
            <span class="quiet">{words.plan.needed}</span>
          )}
        </p>
        {(subscription?.status !== 'active' || credits <= 0) && <PlanLink />}
      </section>
    </div>
  )
}

const Password = ({ signedIn, hasPassword, problem }: AccountView) => {
  const { password: words } = useTexts().account
  return (
    <section class="card" aria-labelledby="password-title">
      <form class="stack" method="post" action="/account/password">
        <h2 id="password-title">{hasPassword ? words.changeTitle : words.setTitle}</h2>
        <Notices problem={problem} />
        <OwnName username={signedIn.caller.account.username} />
        {hasPassword && <PasswordField id="current" label={words.current} autofocus={problem !== undefined} />}
        <NewPasswordField label={words.next} name="next" hint={words.hint} />
        <button type="submit">{hasPassword ? words.change : words.set}</button>
      </form>
    </section>
  )
}

const HISTORY_PAGE = 25
/** A session that was left open must not be a way to guess the password. */
const TRIES = { windowMs: 15 * 60_000, max: 12 } as const
const ACTS = ['password', 'session', 'mails', 'email', 'canceled', 'confirmed', 'language'] as const

// A cursor that is none is the beginning; nobody types one.
const query = paidQuery.extend({
  cursor: field.page(1).cursor.catch(undefined),
  done: z.enum(ACTS).optional().catch(undefined),
})
const passwords = z.object({ current: z.string().max(1000).catch(''), next: z.string().max(1000).catch('') })

/** Your account. */
export function accountPageRoutes(
  app: App,
  { ports, keyPrefix, shop, baseUrl, languages, takesPasswords, sendsMail }: WebsiteOptions,
  cookies: SessionCookie,
): void {
  const { credentials, guesses, currentPeriods, sessions, spending, mailChoices } = ports
  if (mailChoices) mailSettingsRoutes(app, mailChoices)
  languageRoutes(app, sessions)
  newImagesRoutes(app, ports.privacy)
  sessionRoutes(app, sessions, cookies)

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    after: Cursor | undefined,
    news: Pick<AccountView, 'done' | 'problem' | 'refused' | 'typed' | 'emailProblem'>,
    paid: z.output<typeof paidQuery> = {},
  ) => {
    const signedIn = sessionOf(request)
    const { id, username } = signedIn.caller.account
    const [own, held, current, days, mailsOff, pending, kept, { items, next }] = await Promise.all([
      credentials.find(username),
      sessions.list(id),
      currentPeriods.of(id),
      spending.days(id),
      mailChoices?.off(id),
      credentials.pendingEmail(id),
      ports.retentionOf(id),
      spending.entries(id, { limit: HISTORY_PAGE, after }),
    ])
    const hasPassword = Boolean(own?.passwordHash)
    const view = {
      ...news,
      signedIn,
      keyPrefix,
      languages,
      days,
      takesPasswords,
      hasPassword,
      sessions: held,
      current,
      mailsOff,
      pending,
      kept,
      sendsMail,
    }
    const history = { entries: items, older: field.cursorOf(next), later: after !== undefined }
    const billing = shop && (await billingView(shop, id, paid, items))
    if (billing) reloadUntilConfirmed(reply, billing)
    return sendPage(reply, <AccountPage {...view} {...history} billing={billing} />)
  }

  app.get('/account', { schema: { querystring: query } }, (request, reply) => {
    const { cursor, done, ...paid } = request.query
    const { email, done: texts } = request.texts.account
    const text = done === 'email' ? linkSent(email, sendsMail) : done && texts[done]
    return show(request, reply, cursor, { done: text }, paid)
  })

  if (shop)
    billingRoutes(app, { shop, baseUrl }, (request, reply, { code, message }) =>
      show(request, reply.code(statusOf(code)), undefined, { refused: inWords(message, request.texts) }),
    )

  const countTry = async (accountId: string) => {
    const tried = await guesses.hit(`password:${accountId}`, TRIES.windowMs, TRIES.max)
    if (tried.current > TRIES.max)
      throw new AppError('rate_limited', 'Too many tries. Wait a quarter of an hour, then try again.')
  }
  deleteAccountRoutes(app, { ports, shop }, cookies, countTry)
  exportRoutes(app, { ports }, (request, reply, error) =>
    show(request, reply, undefined, { refused: refusalMessage(error, reply) }),
  )
  emailAddressRoutes(app, {
    ...{ ports, countTry },
    show: (request, reply, news) => show(request, reply, undefined, news),
  })

  app.post('/account/password', { schema: { body: passwords } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    if (!takesPasswords)
      return show(request, reply.code(403), undefined, { refused: request.texts.signIn.problems.noPasswords })
    try {
      await countTry(signedIn.caller.account.id)
      await changePassword(ports, signedIn, request.body)
    } catch (error) {
      return show(request, reply, undefined, { problem: refusalMessage(error, reply) })
    }
    return reply.redirect('/account?done=password', 303)
  })
}
