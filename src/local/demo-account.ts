import { readFile } from 'node:fs/promises'
import { apiKeyHint, hashApiKey, isWellFormedApiKey, newApiKey } from '../core/accounts/api-key.js'
import { newSignInLink } from '../core/accounts/session.js'
import { defaultOf } from '../core/catalog/model-version.js'
import { requireAccount } from '../core/operator/accounts.js'
import { accountStore, operatorUserStore } from '../db/accounts/accounts.js'
import { operatorKeyStore } from '../db/accounts/api-keys.js'
import { operatorCreditStore } from '../db/accounts/ledger.js'
import { credentialStore } from '../db/accounts/sessions.js'
import { operatorSubscriptionStore } from '../db/accounts/subscriptions.js'
import { modelStore } from '../db/catalog/models.js'
import { createDatabase, type Database } from '../db/client.js'
import { administration } from '../db/operator/administration.js'
import { backendStates } from '../db/operator/overview.js'
import type { Config } from '../process/config.js'
import { writePrivately } from './state-directory.js'

/** A name that no account has in a database that DATABASE_URL may point to. */
const USERNAME = 'easel-demo'
const PLAN = 'Demo'
const CREDITS = 1000
const LOW = 100
const DAY_MS = 86_400_000
/** A worker that runs announces its backends every 5 s. */
const ANNOUNCED_WITHIN_MS = 15_000

/** What `npm start` prints a key of, and the demo calls with. */
export type DemoAccess = Awaited<ReturnType<typeof prepareDemo>>

/**
 * Ensures the demo account: an active subscription, enough credits, and a key, kept in `keyFile` as long as it works.
 * @param whenReady a worker that is being started has announced its backends by then; none for one that runs already
 * @throws Error with one sentence when no model is enabled, and what `whenReady` rejects with
 */
export async function prepareDemo(config: Config, keyFile: string, whenReady?: Promise<unknown>) {
  const db = createDatabase(config.databaseUrl, { maxConnections: 2, onError: () => undefined })
  try {
    const began = performance.now()
    const [account] = await Promise.all([prepareAccount(db, keyFile, config.keyPrefix), whenReady])
    // Announcements of an earlier worker do not count.
    const withinMs = whenReady !== undefined ? performance.now() - began : ANNOUNCED_WITHIN_MS
    return { account, ...(await chooseModel(db, withinMs, config.defaultModelVersionId)) }
  } finally {
    await db.pool.end()
  }
}

/** A link that signs the demo account in, once. On the owner's own machine it is an operator. */
export async function demoSignInLink({ databaseUrl, baseUrl }: Config, isOperator: boolean): Promise<string> {
  const db = createDatabase(databaseUrl, { maxConnections: 1, onError: () => undefined })
  try {
    const { id } = await requireAccount(administration(db), USERNAME)
    if (isOperator) await operatorUserStore(db).setRole(id, 'operator')
    return (await newSignInLink(credentialStore(db), id, baseUrl)).url
  } finally {
    await db.pool.end()
  }
}

async function prepareAccount(db: Database, keyFile: string, keyPrefix: string) {
  const users = operatorUserStore(db)
  const endDate = new Date(Date.now() + 365 * DAY_MS)
  const found = await users.find(USERNAME)
  // Changes nothing if another start has created it meanwhile.
  if (!found || found.deletedAt)
    await users.create({
      username: USERNAME,
      credits: CREDITS,
      subscription: { plan: PLAN, endDate },
      email: undefined,
      role: 'subscriber',
    })
  const { id, credits, subscription } = await requireAccount(administration(db), USERNAME)
  if (subscription?.status !== 'active' || subscription.endDate.getTime() < Date.now() + 30 * DAY_MS) {
    const plan = subscription?.plan ?? PLAN
    await operatorSubscriptionStore(db).set(id, { plan, status: 'active', endDate }, endDate)
  }
  const topUp = credits < LOW ? CREDITS - credits : 0
  if (topUp > 0) await operatorCreditStore(db).grant(id, topUp, { note: 'topped up by npm start', ref: undefined })
  return { username: USERNAME, credits: credits + topUp, key: await prepareKey(db, id, keyFile, keyPrefix) }
}

async function prepareKey(db: Database, userId: string, keyFile: string, prefix: string): Promise<string> {
  const kept = (await readFile(keyFile, 'utf8').catch(() => '')).trim()
  const caller = isWellFormedApiKey(kept, prefix) ? await accountStore(db).findCaller(hashApiKey(kept)) : undefined
  if (caller?.account.id === userId && caller.keyKind === 'personal') return kept
  const key = newApiKey(prefix)
  const facts = { hash: hashApiKey(key), hint: apiKeyHint(key) }
  await operatorKeyStore(db).create({ userId, kind: 'personal', name: 'npm start', ...facts })
  await writePrivately(keyFile, `${key}\n`)
  return key
}

/** The default model, whether a live backend has it, and what the backends say of themselves. */
async function chooseModel(db: Database, withinMs: number, chosen: number | undefined) {
  const models = modelStore(db)
  const [enabled, served, backends] = await Promise.all([
    models.listEnabled(),
    models.listServedIds(withinMs),
    backendStates(db, withinMs),
  ])
  const model = defaultOf(enabled, served, chosen)
  if (!model) throw new Error('No model is enabled: enable one with "npm run cli -- models enable ID" and start again.')
  return { modelVersionId: model.id, served: served.includes(model.id), backends }
}
