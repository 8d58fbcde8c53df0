/** Everybody who may come: what they send to say who they are. */
import type { OperatorScope } from '../../../src/core/accounts/account.js'
import { hashApiKey, newApiKey } from '../../../src/core/accounts/api-key.js'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import type { Database } from '../../../src/db/client.js'
import { givenOperatorKey } from '../../http/admin-api/given-operator-key.js'
import { givenPlan } from '../../support/given-plan.js'
import { type GivenUser, givenKey, givenUser, type UserOptions } from '../../support/givens.js'

/** What is said in the headers of a request. */
export type Headers = Readonly<Record<string, string>>

export interface Callers {
  /** Who has the things that paths name. */
  readonly owner: GivenUser
  readonly headersOf: Readonly<Record<Caller, Headers>>
  /** An operator's name and the ID of a key of theirs, which only a key of the scope `all` may change. */
  readonly operator: { readonly username: string; readonly keyId: string }
  /** Begins again every session that a request may have ended. */
  restore(): Promise<void>
}

/** By key. */
const ACCOUNTS = [
  'owner',
  'stranger',
  'website key',
  'lapsed',
  'canceled',
  'without subscription',
  'unlisted plan',
  'plan without the model',
  'key without the model',
] as const
const OPERATOR_KEYS = ['reads', 'accounts', 'models', 'all'] as const
const USELESS_KEYS = [
  'unknown key',
  'revoked key',
  'expired key',
  'revoked operator key',
  'expired operator key',
] as const
/** In a browser. */
const SESSIONS = ['owner', 'stranger', 'lapsed', 'operator', 'demoted operator'] as const

export type Caller =
  | 'nobody'
  | 'developer'
  | 'demoted operator'
  | 'key of a deleted account'
  | 'key of a deleted operator'
  | (typeof ACCOUNTS)[number]
  | (typeof USELESS_KEYS)[number]
  | `operator key: ${(typeof OPERATOR_KEYS)[number]}`
  | `in a browser: ${(typeof SESSIONS)[number]}`
  | 'in a browser: ended session'
  | 'in a browser: deleted account'
  | 'from another website: owner'
  | 'from another website: operator'

const DAY_MS = 86_400_000
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })
const inBrowser = (cookie: string): Headers => ({ cookie, 'sec-fetch-site': 'same-origin' })

/** Makes everybody anew. */
export async function givenCallers(db: Database): Promise<Callers> {
  const update = (table: string, set: string, id: string) =>
    db.pool.query(`UPDATE ${table} SET ${set} WHERE id = $1`, [id])
  const user = (options?: UserOptions) => givenUser(db, options)
  const subscribed = (subscription: UserOptions['subscription'] = {}) => user({ subscription })

  const [owner, stranger] = [await user(), await user()]
  const developer = await user({ developer: { concurrency: 1 } })
  const lapsed = await subscribed({ endDate: new Date(Date.now() - DAY_MS) })
  const plan = await givenPlan(db, { models: [11] })
  const limited = await user()
  await update('api_keys', `models = '{11}'`, limited.keyId)

  const sessions: { hash: Buffer; userId: string }[] = []
  const session = async ({ id }: Pick<GivenUser, 'id'>) => {
    const token = newToken()
    await sessionStore(db).begin(id, hashToken(token), 'test')
    sessions.push({ hash: hashToken(token), userId: id })
    return `easel=${token}`
  }

  // Nobody knows such a key: its hash is that of random bytes.
  const website = await user()
  await session(website)
  await db.pool.query(`UPDATE api_keys SET hash = $2 WHERE user_id = $1 AND kind = 'website'`, [
    website.id,
    hashApiKey(websiteKey),
  ])

  const revoked = await givenKey(db, owner.id)
  await update('api_keys', 'revoked_at = now()', revoked.keyId)
  const expired = await givenKey(db, owner.id)
  await update('api_keys', `expires_at = now() - interval '1 second'`, expired.keyId)
  const deleted = await user()
  const deletedSession = await session(deleted)
  await update('users', 'deleted_at = now()', deleted.id)

  const operatorKey = (scope?: OperatorScope) => givenOperatorKey(db, scope)
  const operator = await operatorKey()
  const demoted = await operatorKey()
  await update('users', `role = 'subscriber'`, demoted.user.id)
  const revokedOperator = await operatorKey()
  await update('api_keys', 'revoked_at = now()', revokedOperator.id)
  const expiredOperator = await operatorKey()
  await update('api_keys', `expires_at = now() - interval '1 second'`, expiredOperator.id)
  const deletedOperator = await operatorKey()
  await update('users', 'deleted_at = now()', deletedOperator.user.id)

  const ended = await session(owner)
  const endedHash = sessions.at(-1)?.hash
  const cookies = {
    owner: await session(owner),
    stranger: await session(stranger),
    lapsed: await session(lapsed),
    operator: await session(operator.user),
    'demoted operator': await session(demoted.user),
  }

  const headersOf: Record<string, Headers> = {
    nobody: {},
    owner: bearer(owner.key),
    stranger: bearer(stranger.key),
    developer: bearer(developer.key),
    'website key': bearer(websiteKey),
    lapsed: bearer(lapsed.key),
    canceled: bearer((await subscribed({ status: 'canceled' })).key),
    'without subscription': bearer((await user({ subscription: null })).key),
    'unlisted plan': bearer((await subscribed({ plan: 'no such plan' })).key),
    'plan without the model': bearer((await subscribed({ plan: plan.name })).key),
    'key without the model': bearer(limited.key),
    'unknown key': bearer(newApiKey('easel')),
    'revoked key': bearer(revoked.key),
    'expired key': bearer(expired.key),
    'key of a deleted account': bearer(deleted.key),
    'operator key: all': bearer(operator.key),
    'demoted operator': bearer(demoted.key),
    'revoked operator key': bearer(revokedOperator.key),
    'expired operator key': bearer(expiredOperator.key),
    'key of a deleted operator': bearer(deletedOperator.key),
    'in a browser: ended session': inBrowser(ended),
    'in a browser: deleted account': inBrowser(deletedSession),
  }
  for (const scope of ['read', 'accounts', 'models'] as const)
    headersOf[`operator key: ${scope === 'read' ? 'reads' : scope}`] = bearer((await operatorKey(scope)).key)
  for (const [name, cookie] of Object.entries(cookies)) {
    headersOf[`in a browser: ${name}`] = inBrowser(cookie)
    if (name === 'owner' || name === 'operator')
      headersOf[`from another website: ${name}`] = { cookie, 'sec-fetch-site': 'cross-site' }
  }

  const restore = () =>
    db.pool.query(
      `INSERT INTO sessions (user_id, token_hash, expires_at)
       SELECT user_id, hash, now() + CASE WHEN hash = $3 THEN interval '-1 second' ELSE interval '1 day' END
         FROM unnest($1::uuid[], $2::bytea[]) AS s (user_id, hash)
       ON CONFLICT (token_hash) DO UPDATE SET expires_at = excluded.expires_at`,
      [sessions.map(({ userId }) => userId), sessions.map(({ hash }) => hash), endedHash],
    )
  return {
    owner,
    headersOf: headersOf as Callers['headersOf'],
    operator: { username: operator.user.username, keyId: operator.id },
    restore: async () => void (await restore()),
  }
}

const websiteKey = newApiKey('easel')
