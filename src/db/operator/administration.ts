import { and, desc, eq, inArray, ne, type SQL, sql } from 'drizzle-orm'
import type { ListedAccount, OperatorAccounts } from '../../core/operator/accounts.js'
import type { Administration } from '../../core/operator/administration.js'
import type { Recorded } from '../../core/operator/operator-actions.js'
import { emailAddressIn } from '../../lib/email-address.js'
import { type OperatorUser, operatorUserStore } from '../accounts/accounts.js'
import { operatorKeyStore } from '../accounts/api-keys.js'
import { operatorCreditStore } from '../accounts/ledger.js'
import { planStore } from '../accounts/plans.js'
import { credentialStore, sessionStore } from '../accounts/sessions.js'
import { operatorSubscriptionStore, STATUS_NOW } from '../accounts/subscriptions.js'
import { creditPackStore } from '../billing/credit-packs.js'
import { type Database, withTransaction } from '../client.js'
import { cancelStore } from '../generations/end.js'
import { operatorGenerationStore } from '../generations/history.js'
import { imageRemovals } from '../images/removals.js'
import {
  identities,
  apiKeys as k,
  notices,
  subscriptions as s,
  signInLinks,
  sessions as t,
  users as u,
} from '../schema/accounts.js'
import { paymentCustomers as c, paymentEvents as e } from '../schema/billing.js'
import { allGenerations as all, generations as g } from '../schema/generations.js'
import { allImages as i, imageReports as ir } from '../schema/images.js'
import { refusedPrompts as r } from '../schema/operator.js'
import { columns, commaList, queryOnce, selectAs } from '../statement.js'
import { operatorWebhookStore } from '../webhooks/endpoints.js'
import { operatorModelStore } from './catalog.js'
import { imageReportLog } from './image-reports.js'
import { importAccounts } from './import-accounts.js'
import { recorded } from './operator-actions.js'
import { pauseStore } from './pauses.js'
import { operatorPayments } from './payments.js'
import { refusedPromptLog } from './refused-prompts.js'

const NAME = sql`lower(${u.username})`
const IS_ACTIVE = inArray(g.status, ['queued', 'processing'])

const USER_COLUMNS = selectAs({
  ...columns(u, 'id', 'username', 'email', 'role', 'credits', 'createdAt', 'deletedAt'),
  ...columns(s, 'plan', 'endDate'),
  status: STATUS_NOW,
  activeGenerationId:
    sql`(SELECT ${g.id} FROM ${g} WHERE ${g.userId} = ${u.id} AND ${IS_ACTIVE} LIMIT 1)`.inlineParams(),
  lastSeenAt: sql`greatest((SELECT max(${t.seenAt}) FROM ${t} WHERE ${t.userId} = ${u.id}),
    (SELECT max(${k.lastUsedAt}) FROM ${k} WHERE ${k.userId} = ${u.id}))`,
})

/** The last characters of a key, also as the pages show it: `easel_…Ab12`. */
const KEY_HINT = /^(?:[A-Za-z0-9-]+_)?…?([0-9A-Za-z]{4})$/

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function matching(text: string): SQL | undefined {
  if (text === '') return undefined
  const hint = KEY_HINT.exec(text)?.[1]
  // As log lines and the ledger have them.
  if (UUID.test(text))
    return sql`(${u.id} = ${text}::uuid OR ${u.id} IN (SELECT ${k.userId} FROM ${k} WHERE ${k.id} = ${text}::uuid))`
  const part = emailAddressIn(text) ?? text
  const ways = [NAME, sql`lower(${u.email})`].map((column) => sql`strpos(${column}, lower(${part})) > 0`)
  if (hint) ways.push(sql`${u.id} IN (SELECT ${k.userId} FROM ${k} WHERE ${k.hint} = ${hint})`)
  return sql`(${sql.join(ways, sql` OR `)})`
}

/** Where a page ended: the name, then the ID, since deleted accounts may share a name. */
const placeOf = ({ username, id }: ListedAccount) => `${username.toLowerCase()}:${id}`

const withoutPassword = ({ passwordHash: _, ...account }: OperatorUser) => account

/** What operators see and change of any account: the stores of the command line, and the list of the console. */
export function administration(db: Database): Administration {
  const { orm, pool } = db
  const users = operatorUserStore(db)

  return {
    subscriptions: operatorSubscriptionStore(db),
    credits: operatorCreditStore(db),
    keys: operatorKeyStore(db),
    endpoints: operatorWebhookStore(db),
    sessions: sessionStore(db),
    credentials: credentialStore(db),
    cancels: cancelStore(db),
    removals: imageRemovals(db),
    refusedPromptLog: refusedPromptLog(db),
    imageReports: imageReportLog(db),
    catalog: operatorModelStore(db),
    plans: planStore(db),
    pauses: pauseStore(db),
    packs: creditPackStore(db),
    payments: operatorPayments(db),

    accounts: {
      async search({ text, deleted }, { limit, after }) {
        const [name, id] = after?.split(':') ?? []
        const where = and(
          deleted ? sql`${u.deletedAt} IS NOT NULL` : sql`${u.deletedAt} IS NULL`,
          matching(text),
          // The first condition is for the index.
          id === undefined ? undefined : sql`${NAME} >= ${name} AND (${NAME}, ${u.id}) > (${name}, ${id}::uuid)`,
        )
        const order = commaList([NAME, sql`${u.id}`])
        const rows = await queryOnce<ListedAccount>(
          pool,
          sql`SELECT ${USER_COLUMNS}
                FROM (SELECT * FROM ${u} WHERE ${where} ORDER BY ${order} LIMIT ${limit + 1}) ${u}
                LEFT JOIN ${s} ON ${s.userId} = ${u.id} ORDER BY ${order}`,
        )
        const items = rows.slice(0, limit)
        const last = items.at(-1)
        return { items, next: last && rows.length > limit ? placeOf(last) : undefined }
      },

      async find(username, id) {
        const found = await users.find(username, id)
        return found && withoutPassword(found)
      },

      async list() {
        return (await users.list()).map(withoutPassword)
      },

      create: users.create,
      import: (accounts, dryRun) => importAccounts(db, accounts, dryRun),
      setRole: users.setRole,
      setRoleFromGroup: users.setRoleFromGroup,
      setEmail: users.setEmail,
      delete: users.delete,
      forget: (id) => forgetPerson(db, id),
    } satisfies OperatorAccounts,

    generations: {
      ...operatorGenerationStore(db),
      listActive: (accountId, limit) =>
        orm
          .select(columns(g, 'id', 'status', 'modelName', 'batchSize', 'cost', 'createdAt'))
          .from(g)
          .where(and(eq(g.userId, accountId), IS_ACTIVE))
          .orderBy(desc(g.createdAt), desc(g.seq))
          .limit(limit),
    },
  }
}

/** What only the person needs. */
const OF_PERSON = [t, signInLinks, identities, notices, r]

/** Wipes what a deleted account leaves besides its images and prompts; docs/privacy.md lists what stays. Can be repeated. */
const forgetPerson = (db: Database, userId: string): Promise<void> =>
  withTransaction(db, async (tx) => {
    for (const of of OF_PERSON) await tx.delete(of).where(eq(of.userId, userId))
    await tx.update(u).set({ email: null, passwordHash: null }).where(eq(u.id, userId))
    const customers = tx.select({ id: c.id }).from(c).where(eq(c.userId, userId))
    await tx.update(e).set({ body: {} }).where(inArray(e.customer, customers))
    // There are few reports, and may be millions of images: each report looks its owner up.
    const owner = tx
      .select({ id: all.userId })
      .from(i)
      .innerJoin(all, eq(all.id, i.generationId))
      .where(eq(i.slug, ir.slug))
    await tx
      .update(ir)
      .set({ note: '' })
      .where(and(ne(ir.note, ''), eq(sql`(${owner})`, userId)))
  })

/** Does something to the stores of one transaction, and records it there. */
export const recordedIn =
  (db: Database): Recorded<Administration> =>
  (work, actOf) =>
    recorded(db, (on) => work(administration(on)), actOf)
