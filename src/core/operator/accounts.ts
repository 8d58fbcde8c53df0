/** Accounts, and how they sign in. */
import type { Role, Subscription } from '../accounts/account.js'
import { cancelAll, type DeleteAccountPorts, deleteAccount } from '../accounts/delete-account.js'
import { hashPassword, requireUsablePassword } from '../accounts/password.js'
import { type CredentialStore, newSignInLink } from '../accounts/session.js'
import { isNameOfDeleted } from '../accounts/username.js'
import { AppError, invalidParameter } from '../errors.js'
import { newWebhookSecret, OLD_SECRET_HOURS } from '../webhooks/webhook.js'
import type { Acting } from './acting.js'
import { type CancelStores, endGeneration } from './generations.js'
import { type PlanStores, requireAllListed, requireListed } from './plans.js'

/** An account in the operator's list. */
export interface ListedAccount {
  readonly id: string
  readonly username: string
  readonly email: string | null
  readonly role: Role
  readonly credits: number
  readonly createdAt: Date
  readonly deletedAt: Date | null
  /** Null without a subscription. */
  readonly plan: string | null
  readonly status: string | null
  readonly endDate: Date | null
  readonly activeGenerationId: string | null
  /** On the website or through a key; null: never. */
  readonly lastSeenAt: Date | null
}

export interface AdministeredAccount
  extends Omit<ListedAccount, 'plan' | 'status' | 'endDate' | 'activeGenerationId' | 'lastSeenAt'> {
  readonly subscription: Subscription | null
  /** Whether the role came from a group of the identity provider. */
  readonly roleFromGroup: boolean
}

export interface NewAccount {
  readonly username: string
  readonly credits: number
  readonly subscription: Pick<Subscription, 'plan' | 'endDate'> | undefined
  readonly email: string | undefined
  readonly role: Role
}

/** A line of an import. What is undefined stays as it is in an account that there is. */
export interface ImportedAccount {
  readonly username: string
  readonly email: string | undefined
  /** Without `endDate` a new one ends in one year, and one that there is when it did. */
  readonly subscription: { readonly plan: string; readonly endDate: Date | undefined } | undefined
  /** For a new account only: an import that is repeated must not give them again. */
  readonly credits: number
}

export const IMPORT_OUTCOMES = ['created', 'changed', 'unchanged'] as const
export type ImportOutcome = (typeof IMPORT_OUTCOMES)[number]

export interface OperatorAccounts {
  /** By name. `text`: a part of the name or address, the last four characters of a key, or the ID of an account or a key. */
  search(
    filter: { readonly text: string; readonly deleted: boolean },
    page: { readonly limit: number; readonly after: string | undefined },
  ): Promise<{ readonly items: readonly ListedAccount[]; readonly next: string | undefined }>
  /** By name, ignoring case: the account that has it now, else the one deleted last. `id`: exactly this one. */
  find(username: string, id?: string): Promise<AdministeredAccount | undefined>
  /** By name, the deleted ones after the others. */
  list(): Promise<readonly AdministeredAccount[]>
  /** All or nothing. Resolves to its ID. */
  create(account: NewAccount): Promise<{ readonly id: string } | { readonly taken: 'username' | 'email' }>
  /**
   * Adds accounts, and changes those of the same name; all or none. Resolves to what became of each, in their order.
   * @param dryRun leaves everything as it is
   */
  import(
    accounts: readonly ImportedAccount[],
    dryRun: boolean,
  ): Promise<{ readonly outcomes: readonly ImportOutcome[] } | { readonly emailTaken: ImportedAccount }>
  setRole(id: string, role: Role): Promise<void>
  /** Gives the role of operators, or takes it if it was given so. Resolves to the name of an account that changed. */
  setRoleFromGroup(id: string, isInGroup: boolean): Promise<string | undefined>
  /** False: another account has this address. */
  setEmail(id: string, email: string | null): Promise<boolean>
  delete: DeleteAccountPorts['accounts']['delete']
  /** Wipes who somebody was to the website, and which prompts were refused to them; for a deleted account. */
  forget(id: string): Promise<unknown>
}

export interface AccountStores {
  readonly accounts: OperatorAccounts
}

type SignInStores = AccountStores & { readonly credentials: Pick<CredentialStore, 'setPassword' | 'addLink'> }

type WebhookStores = AccountStores & {
  readonly endpoints: {
    /** Of the account's webhook_urls. Resolves to until when the old secret signs, too; undefined if there is none. */
    rotateSecret(accountId: string, secret: string, oldForHours: number): Promise<Date | undefined>
  }
}

type DeleteStores = AccountStores & CancelStores & Pick<DeleteAccountPorts, 'sessions' | 'endpoints'>

const USERNAME = /^[A-Za-z0-9._@+-]{1,64}$/

/** The account of this name, or else the one deleted last if `orDeleted`. @throws not_found when there is none */
export async function requireAccount({ accounts }: AccountStores, username: string, { orDeleted = false } = {}) {
  const account = USERNAME.test(username) ? await accounts.find(username) : undefined
  if (!account) throw new AppError('not_found', `No user "${username}".`, { parameter: 'username' })
  if (account.deletedAt && !orDeleted) throw accountDeleted(account.username)
  return account
}

export const accountDeleted = (username: string) => new AppError('not_found', `User "${username}" was deleted.`)

const emailTaken = (email: string) =>
  new AppError('invalid_request', `Another user has the address ${email}.`, { parameter: 'email' })

/** Any other name an operator may give, also one that people cannot give themselves. */
function requireLivingName(username: string): void {
  if (isNameOfDeleted(username))
    throw new AppError('invalid_request', `"${username}" is how a wiped account is called: choose another username.`)
}

/** @param isUnlisted the name of its plan is meant to be that of none. @throws invalid_request */
export async function createAccount(
  acting: Acting<AccountStores & PlanStores>,
  account: NewAccount,
  isUnlisted = false,
): Promise<AdministeredAccount> {
  const { username, email = '', subscription } = account
  requireLivingName(username)
  const created = await acting.recorded(
    async (stores) => {
      if (subscription) await requireListed(stores, subscription.plan, isUnlisted)
      return stores.accounts.create(account)
    },
    (it) => ('id' in it ? ['created user', username] : undefined),
  )
  if ('id' in created) return requireAccount(acting.stores, username)
  if (created.taken === 'email') throw emailTaken(email)
  throw new AppError('invalid_request', `User "${username}" already exists.`)
}

/**
 * Resolves to what became of each account, in their order.
 * @param isUnlisted names of plans are meant that are those of none
 * @throws invalid_request
 */
export async function importAccounts(
  acting: Acting<AccountStores & PlanStores>,
  imported: readonly ImportedAccount[],
  dryRun: boolean,
  isUnlisted = false,
) {
  for (const { username } of imported) requireLivingName(username)
  const done = await acting.recorded(
    async (stores) => {
      const planOf = async (name: string) => {
        const found = await stores.accounts.find(name)
        return found?.deletedAt ? undefined : found?.subscription?.plan
      }
      if (!isUnlisted) await requireAllListed(stores, imported, planOf)
      return stores.accounts.import(imported, dryRun)
    },
    (it) => {
      if (dryRun || !('outcomes' in it)) return undefined
      const { created, changed } = countsOf(it.outcomes)
      return created + changed > 0 ? [`imported users: ${sayCounts(it.outcomes)}`, ''] : undefined
    },
  )
  if ('outcomes' in done) return done.outcomes
  const { username, email } = done.emailTaken
  throw new AppError(
    'invalid_request',
    `Another user than "${username}" has the address ${email}, so nothing was imported.`,
    { parameter: 'email' },
  )
}

export const countsOf = (outcomes: readonly ImportOutcome[]) =>
  Object.fromEntries(IMPORT_OUTCOMES.map((name) => [name, outcomes.filter((it) => it === name).length])) as Record<
    ImportOutcome,
    number
  >

/** Such as `2 created, 1 changed, 0 unchanged`. */
export const sayCounts = (outcomes: readonly ImportOutcome[]): string =>
  Object.entries(countsOf(outcomes))
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ')

/** Also makes the links void that were sent to the address before. @throws not_found, invalid_request */
export async function setEmail(acting: Acting<AccountStores>, name: string, email: string | null) {
  const { id, username } = await requireAccount(acting.stores, name)
  const isSet = await acting.recorded(
    ({ accounts }) => accounts.setEmail(id, email),
    (it) => (it ? [email ? 'changed the email address' : 'removed the email address', username] : undefined),
  )
  if (!isSet) throw emailTaken(email ?? '')
  return { username, email }
}

/** @throws not_found */
export async function setRole(acting: Acting<AccountStores>, name: string, role: Role) {
  const { id, username } = await requireAccount(acting.stores, name)
  await acting.recorded(
    ({ accounts }) => accounts.setRole(id, role),
    () => [`made ${role === 'operator' ? 'an operator' : 'a subscriber'}`, username],
  )
  return { username, role }
}

/** Ends all sessions, too. Resolves to the username. @throws not_found, invalid_request */
export async function setPassword(acting: Acting<SignInStores>, name: string, read: () => Promise<string>) {
  const { id, username } = await requireAccount(acting.stores, name)
  const password = await read()
  requireUsablePassword(password, username)
  const hash = await hashPassword(password)
  await acting.recorded(
    ({ credentials }) => credentials.setPassword(id, hash, undefined),
    () => ['set the password', username],
  )
  return username
}

/** A link that signs in once. @param minutes undefined: as long as usual. @throws not_found */
export async function makeSignInLink(
  acting: Acting<SignInStores>,
  name: string,
  { baseUrl, minutes }: { readonly baseUrl: string; readonly minutes: number | undefined },
) {
  const { id, username } = await requireAccount(acting.stores, name)
  const lasts = minutes === undefined ? '' : ` that is valid for ${lengthOf(minutes)}`
  return acting.recorded(
    ({ credentials }) => newSignInLink(credentials, id, baseUrl, minutes),
    () => [`made a sign-in link${lasts}`, username],
  )
}

const UNITS = [
  [1440, 'day'],
  [60, 'hour'],
  [1, 'minute'],
] as const

/** In the largest unit that says it exactly. */
export function lengthOf(minutes: number): string {
  const [size, word] = UNITS.find(([it]) => minutes % it === 0) ?? UNITS[2]
  return `${minutes / size} ${word}${minutes === size ? '' : 's'}`
}

/** Of the secret that signs requests to the account's webhook_url. @throws not_found, invalid_request */
export async function rotateWebhookSecret(acting: Acting<WebhookStores>, name: string) {
  const { id, username } = await requireAccount(acting.stores, name)
  const secret = newWebhookSecret()
  const oldSecretUntil = await acting.recorded(
    ({ endpoints }) => endpoints.rotateSecret(id, secret, OLD_SECRET_HOURS),
    (end) => end && ['rotated webhook secret', username],
  )
  if (!oldSecretUntil)
    throw new AppError(
      'invalid_request',
      `User "${username}" has no webhook secret yet: the first request with a webhook_url makes it.`,
    )
  return { username, secret, oldSecretUntil }
}

/** @throws not_found */
export async function endSessions(acting: Acting<DeleteStores>, name: string): Promise<void> {
  const { id, username } = await requireAccount(acting.stores, name)
  await acting.recorded(
    ({ sessions }) => sessions.endAll(id),
    () => ['ended all sessions', username],
  )
}

/**
 * Deletes an account, cancels what is active, and keeps the rest unless it is to be purged, which may be done later, too.
 * @param purge wipes what an account leaves, and resolves to how much that was
 * @throws not_found, invalid_request
 */
export async function endAccount<Purged>(
  acting: Acting<DeleteStores>,
  name: string,
  purge: ((accountId: string) => Promise<Purged>) | undefined,
) {
  const { id, username, deletedAt: before } = await requireAccount(acting.stores, name, { orDeleted: true })
  if (before && !purge)
    throw invalidParameter('purge', `User "${username}" is already deleted; purge wipes prompts and images.`)
  const deletedAt = await acting.recorded(
    (stores) => deleteAccount(stores, id),
    () => [purge ? 'deleted user and everything of theirs' : 'deleted user', username],
  )
  const cancel = (generationId: string) => endGeneration(acting, generationId)
  const canceled = await cancelAll({ ...acting.stores, cancel }, id)
  return { id, username, deletedAt, canceled, purged: purge ? await purge(id) : null }
}
