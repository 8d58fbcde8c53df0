import { setTimeout as after } from 'node:timers/promises'
import type { Logger } from 'pino'
import { accountMails, keepMails } from '../core/accounts/account-mails.js'
import { mailOrigin } from '../core/accounts/mail-texts.js'
import { startNoticeMails } from '../core/accounts/notices.js'
import { withoutPasswords } from '../core/accounts/password.js'
import { requirePricesAt } from '../core/billing/checked-prices.js'
import type { PaymentProvider } from '../core/billing/payment-provider.js'
import { shop } from '../core/billing/shop.js'
import type { OwnRules } from '../core/generations/submit/ports.js'
import type { ImageLinks } from '../core/images/image-links.js'
import type { PublishedImages } from '../core/images/ports.js'
import type { Site } from '../core/site.js'
import { ownKeyStore } from '../db/accounts/api-keys.js'
import { identityStore } from '../db/accounts/identities.js'
import { spendingStore } from '../db/accounts/ledger.js'
import { mailChoices, noticeStore } from '../db/accounts/notices.js'
import { planStore } from '../db/accounts/plans.js'
import { accountPurges } from '../db/accounts/purges.js'
import { savedSettingsStore } from '../db/accounts/saved-settings.js'
import { credentialStore, sessionStore, unsentMailStore } from '../db/accounts/sessions.js'
import { currentPeriods } from '../db/accounts/subscription-periods.js'
import { auditResults } from '../db/audit/audit-results.js'
import { creditPackStore } from '../db/billing/credit-packs.js'
import { billingCustomers } from '../db/billing/customers.js'
import { ownSubscriptions } from '../db/billing/own-subscriptions.js'
import { paymentFaultStore } from '../db/billing/payment-faults.js'
import { coverStore } from '../db/catalog/covers.js'
import type { Database } from '../db/client.js'
import { accountExports } from '../db/gallery/account-export.js'
import { imageDeletions } from '../db/gallery/deletions.js'
import { folderStore } from '../db/gallery/folders.js'
import { retentionOf } from '../db/generations/retention.js'
import { imagePrivacy } from '../db/images/privacy.js'
import { reportStore } from '../db/images/reports.js'
import { administration, recordedIn } from '../db/operator/administration.js'
import { operatorModelStore } from '../db/operator/catalog.js'
import { operatorFigures } from '../db/operator/figures.js'
import { operatorActionStore } from '../db/operator/operator-actions.js'
import { oversight } from '../db/operator/overview.js'
import { pauseStore } from '../db/operator/pauses.js'
import { operatorPayments } from '../db/operator/payments.js'
import { recentImages } from '../db/operator/recent-images.js'
import { refusedPromptLog } from '../db/operator/refused-prompts.js'
import { removedImageList } from '../db/operator/removed-images.js'
import { upNextStore } from '../db/up-next/up-next.js'
import type { PersonalApiPorts } from '../http/shared/ports.js'
import { encodeCover } from '../images/encode-cover.js'
import { identityProvider } from '../outbound/identity-provider.js'
import { mailServerProblem, senderAt, smtpMail } from '../outbound/smtp-mail.js'
import { website } from '../web/server/website.js'
import type { Asset } from '../web/shared/assets.js'
import { mailTextsOf } from '../web/texts/texts.js'
import type { Config } from './config.js'
import type { Foundation } from './foundation.js'
import { prepareEntries } from './import-models.js'
import { paymentOrigins } from './open-payment.js'
import { storedPrices } from './required-prices.js'
import { workflowModels } from './workflow-models.js'

/** How long mails may take when the server leaves; what takes longer is lost, and asked for again. */
const MAILS_MS = 5000
const FORGET_EVERY_MS = 3_600_000

interface Shared {
  /** The Personal Access API's. */
  readonly ports: PersonalApiPorts
  readonly ownRules: OwnRules
  readonly published: PublishedImages
  readonly site: Site
  /** What the site has of its own, such as its mark. */
  readonly assets: readonly Asset[]
  readonly links: ImageLinks
  /** Undefined: nothing is sold. */
  readonly provider: PaymentProvider | undefined
  readonly leaving: AbortSignal
  readonly mailPollMs?: number | undefined
}

/** Wires the website of one server, and the mails that signing in takes. */
export function startWebsite(config: Config, log: Logger, foundation: Foundation, shared: Shared) {
  const { db, reads, counter } = foundation
  const { stop, provider, ports } = startSigningIn(config, log, foundation, shared)
  const all = {
    ...shared.ports,
    ...ports,
    ownRules: shared.ownRules,
    publishedImages: shared.published,
    reports: reportStore(db),
    folders: folderStore(db),
    exports: accountExports(db, reads),
    retentionOf: retentionOf(db, config.retention),
    deletions: imageDeletions(db),
    upNext: upNextStore(db),
    savedSettings: savedSettingsStore(db),
    privacy: imagePrivacy(db),
    links: shared.links,
    operatorActions: operatorActionStore(db),
    recorded: recordedIn(db),
    oversight: oversight(db, reads),
    pauses: pauseStore(db),
    catalog: operatorModelStore(db),
    covers: coverStore(db),
    encodeCover,
    workflows: workflowModels(db),
    prepareModels: (entries: readonly unknown[]) => prepareEntries(db, entries),
    plans: planStore(db),
    payments: operatorPayments(db),
    requirePrices: requirePricesAt(shared.provider, storedPrices(db)),
    figures: operatorFigures(reads),
    administration: administration(db),
    refusedPromptLog: refusedPromptLog(db),
    removedImages: removedImageList(db),
    recentImages: recentImages(db, reads),
    auditResults: auditResults(db.pool),
    ownKeys: ownKeyStore(db),
    spending: spendingStore(db),
    currentPeriods: currentPeriods(db),
    purges: accountPurges(db),
    guesses: counter,
  }
  const shop = shared.provider && openShop(shared.provider, db, log)
  const sendsMail = config.mail.smtpUrl !== undefined
  const options = { ...config, ports: all, provider, shop, sendsMail, paymentOrigins: paymentOrigins(config) }
  return { website: website({ ...options, assets: shared.assets, leaving: shared.leaving }), stop }
}

const openShop = (provider: PaymentProvider, db: Database, log: Logger) =>
  shop({
    ...{ provider, log, customers: billingCustomers(db), own: ownSubscriptions(db) },
    ...{ plans: planStore(db), packs: creditPackStore(db), faults: paymentFaultStore(db) },
  })

/** Wires how people sign in to the website, and the mails that this takes. */
function startSigningIn(
  { baseUrl, languages, mail, oidc, takesPasswords }: Config,
  log: Logger,
  { db, counter }: Foundation,
  { mailPollMs, provider, site: { name, planHref } }: Shared,
) {
  const stored = credentialStore(db)
  const credentials = takesPasswords ? stored : withoutPasswords(stored)
  const unsentMails = unsentMailStore(db)
  if (mail.smtpUrl === undefined) log.warn('SMTP_URL is not set: mails go to this log and to /operator/mails')
  const unchecked = (err: unknown) => log.error({ err }, 'how people sign in could not be checked')
  const send = mail.smtpUrl === undefined ? keepMails(unsentMails, log) : openMail(mail.smtpUrl)
  function openMail(smtpUrl: string) {
    const { hostname } = new URL(baseUrl)
    const from = mail.from ?? senderAt(name, hostname)
    // Nobody waits for it, as with the identity provider below.
    mailServerProblem(smtpUrl, from, hostname).then((problem) => {
      if (problem) log.error(`no mails can be sent through SMTP_URL: ${problem}`)
    }, unchecked)
    return smtpMail(smtpUrl, from, hostname)
  }
  const origin = mailOrigin(name, baseUrl, mailTextsOf(languages), provider ? '/account#buy' : planHref)
  const mails = accountMails({ credentials, send, counter, log }, origin)
  // Without a mail server an operator would have to pass on each of them.
  const sendsNotices = mail.smtpUrl !== undefined
  const notices = noticeStore(db)
  const forget = () =>
    Promise.all([credentials.forgetExpired(), notices.forgetOld()]).catch((err) =>
      log.warn({ err }, 'expired links and old notices are forgotten an hour later'),
    )
  const noticeMails = sendsNotices ? startNoticeMails({ notices, send, log }, origin, mailPollMs) : undefined
  const forgetting = setInterval(forget, FORGET_EVERY_MS).unref()
  void forget()
  const redirectUri = `${baseUrl}/sign-in/oidc/callback`
  const identities = oidc && identityProvider({ ...oidc, redirectUri, warn: (message) => log.warn(message) })
  // Nobody waits for it: a provider that is away, or set up wrongly, must not keep the server from serving.
  identities?.check().then((problems) => {
    for (const problem of problems) log.error(`people cannot sign in as they should: ${problem}`)
  }, unchecked)
  return {
    ports: {
      ...{ credentials, unsentMails, mails, sessions: sessionStore(db), identities: identityStore(db) },
      mailChoices: sendsNotices ? mailChoices(db) : undefined,
    },
    provider: oidc && identities && { ...oidc, ...identities, secret: oidc.clientSecret },
    async stop() {
      clearInterval(forgetting)
      await Promise.race([Promise.all([mails.stop(), noticeMails?.stop()]), after(MAILS_MS, undefined, { ref: false })])
    },
  }
}
