import { type SQL, sql } from 'drizzle-orm'
import { daysOf } from '../../core/accounts/usage.js'
import {
  type BackendFigures,
  type CreditFigures,
  type DayFigures,
  type GenerationFigures,
  MOST_ACCOUNTS,
  type ModelFigures,
  type OperatorFigures,
  type PlanFigures,
  type SubscriptionFigures,
} from '../../core/operator/figures.js'
import { STATUS_NOW } from '../accounts/subscriptions.js'
import type { ReadDatabase } from '../read-replica.js'
import { subscriptions as s, users as u } from '../schema/accounts.js'
import { modelVersions as m } from '../schema/catalog.js'
import { allPutBackAttempts as b, allGenerations as g } from '../schema/generations.js'
import { creditLedger as l } from '../schema/ledger.js'
import { dayName, dayOf, isInSpan, monthInSpan, REFUND } from '../spending.js'
import { param, statement } from '../statement.js'

type Moved = Omit<CreditFigures, 'spent'> & { readonly day: string; readonly plan: string | null }

// From the index credit_ledger_moved.
const MOVED = statement<Moved>('figures_of_moved_credits')`
  SELECT ${dayName(sql`day`)} AS day, plan, coalesce(sum(delta) FILTER (WHERE kind = 'grant'), 0)::bigint AS granted,
         coalesce(sum(delta) FILTER (WHERE kind = 'purchase'), 0)::bigint AS sold,
         coalesce(-sum(delta) FILTER (WHERE kind = 'expire'), 0)::bigint AS expired
    FROM (SELECT ${dayOf(l.createdAt)} AS day, ${s.plan}, ${l.kind}, ${l.delta}
            FROM ${l} LEFT JOIN ${s} ON ${s.userId} = ${l.userId}
           WHERE ${l.generationId} IS NULL AND ${isInSpan(l.createdAt)}) moved
   GROUP BY day, plan`

interface Made {
  readonly generations: number
  readonly images: number
  readonly charged: number
}

/** From the index generations_usage alone, whose condition it repeats; all of the index of a table is read, whatever the time. */
const made = (groups: SQL) => sql`
  SELECT ${groups}, count(*) AS generations, sum(${g.cost})::bigint AS charged,
         coalesce(sum(${g.batchSize}) FILTER (WHERE ${g.status} = 'succeeded'), 0)::bigint AS images
    FROM ${g} WHERE ${g.cost} >= 0 AND ${isInSpan(g.createdAt)} AND ${monthInSpan(g)}`

const MADE_BY_DAY = statement<Made & { readonly day: string; readonly id: number; readonly modelName: string }>(
  'figures_of_days',
)`
  SELECT ${dayName(sql`made.day`)} AS day, ${m.id}, ${m.modelName} AS "modelName", made.generations, made.images, made.charged
    FROM (${made(sql`${dayOf(g.createdAt)} AS day, ${g.modelVersionId}`)} GROUP BY day, ${g.modelVersionId}) made
    JOIN ${m} ON ${m.id} = made.model_version_id`

const MADE_BY_ACCOUNT = statement<Made & { readonly id: string; readonly plan: string | null }>('figures_of_accounts')`
  SELECT made.user_id AS id, ${s.plan}, made.generations, made.images, made.charged
    FROM (${made(sql`${g.userId}`)} GROUP BY ${g.userId}) made LEFT JOIN ${s} ON ${s.userId} = made.user_id`

interface Refunds {
  readonly kind: 'day' | 'account' | 'backend'
  readonly day: string | null
  readonly modelVersionId: number | null
  readonly accountId: string | null
  readonly backend: string | null
  readonly failed: number
  readonly refunded: number
}

// Each row is a sum of one kind: of a day and model version, of an account, or of a backend.
const REFUNDS = statement<Refunds>('figures_of_refunds')`
  SELECT CASE WHEN grouping(day) = 0 THEN 'day' WHEN grouping(user_id) = 0 THEN 'account' ELSE 'backend' END AS kind,
         ${dayName(sql`day`)} AS day, model_version_id AS "modelVersionId", user_id AS "accountId", backend,
         count(*) AS failed, sum(refund)::bigint AS refunded
    FROM (SELECT ${dayOf(g.createdAt)} AS day, ${g.modelVersionId}, ${g.userId}, ${g.backend}, ${REFUND} AS refund
            FROM ${g} WHERE ${g.status} = 'failed' AND ${isInSpan(g.createdAt)} AND ${monthInSpan(g)}) failed
   GROUP BY GROUPING SETS ((day, model_version_id), (user_id), (backend))`

const PUT_BACK = statement<{ backend: string | null; putBack: number }>('figures_of_put_back_attempts')`
  SELECT ${b.backend}, count(*) AS "putBack" FROM ${b}
   WHERE ${b.backend} IS NOT NULL AND ${isInSpan(b.putBackAt)} AND ${monthInSpan(b)} GROUP BY ${b.backend}`

const PLANS = statement<SubscriptionFigures & { readonly plan: string; readonly active: number }>('figures_of_plans')`
  SELECT ${s.plan}, count(*) FILTER (WHERE ${STATUS_NOW} = 'active') AS active,
         count(*) FILTER (WHERE ${isInSpan(s.startedAt)}) AS started,
         count(*) FILTER (WHERE ${s.endDate} <= now() AND ${isInSpan(s.endDate)}) AS ended
    FROM ${s} GROUP BY ${s.plan}`

const SUBSCRIPTIONS = statement<SubscriptionFigures & { readonly day: string }>('figures_of_subscriptions')`
  SELECT ${dayName(sql`day`)} AS day, sum(started)::bigint AS started, sum(ended)::bigint AS ended FROM (
    SELECT ${dayOf(s.startedAt)} AS day, 1 AS started, 0 AS ended FROM ${s} WHERE ${isInSpan(s.startedAt)}
    UNION ALL
    SELECT ${dayOf(s.endDate)}, 0, 1 FROM ${s} WHERE ${s.endDate} <= now() AND ${isInSpan(s.endDate)}) events
   GROUP BY day`

const NAMES = statement<{ id: string; username: string }>('names_of_accounts')`
  SELECT ${u.id}, ${u.username} FROM ${u} WHERE ${u.id} = ANY (${param('ids')}::uuid[])`

export const operatorFigures = ({ pool }: ReadDatabase): OperatorFigures => ({
  async of(span) {
    const [moved, byDay, byAccount, refunds] = await Promise.all([
      MOVED.rows(pool, span),
      MADE_BY_DAY.rows(pool, span),
      MADE_BY_ACCOUNT.rows(pool, span),
      REFUNDS.rows(pool, span),
    ])
    const [putBack, plans, subscriptions] = await Promise.all([
      PUT_BACK.rows(pool, span),
      PLANS.rows(pool, span),
      SUBSCRIPTIONS.rows(pool, span),
    ])
    const refundOf = new Map(refunds.map((it) => [it.accountId ?? `${it.day} ${it.modelVersionId}`, it.refunded]))
    const spentOf = ({ charged, ...made }: Made, of: string) => ({ ...made, spent: charged - (refundOf.get(of) ?? 0) })
    const ofDays = byDay.map((it) => ({ ...it, ...spentOf(it, `${it.day} ${it.id}`) }))
    const accounts = byAccount.map((it) => ({ ...it, ...spentOf(it, it.id) })).sort(mostSpent)
    const most = accounts.slice(0, MOST_ACCOUNTS)
    const names = await NAMES.rows(pool, { ids: most.map(({ id }) => id) })
    const nameOf = new Map(names.map(({ id, username }) => [id, username]))

    const days = sums<DayFigures>(
      daysOf(span).map((day) => ({ day, ...NO_CREDITS, started: 0, ended: 0 })),
      ({ day }) => day,
    )
    for (const it of [...subscriptions, ...moved, ...ofDays]) days.add(it.day, it)
    const byPlan = sums<PlanFigures>(
      [...plans, { plan: null, active: 0, started: 0, ended: 0 }].map((it) => ({ ...it, ...NO_CREDITS })),
      ({ plan }) => plan,
    )
    for (const it of [...moved, ...accounts]) byPlan.add(it.plan, it)
    const models = sums<ModelFigures>(
      ofDays.map(({ id, modelName }) => ({ modelVersionId: id, modelName, generations: 0, images: 0, spent: 0 })),
      ({ modelVersionId }) => modelVersionId,
    )
    for (const it of ofDays) models.add(it.id, it)
    const backends = sums<BackendFigures>(
      [...refunds.filter(({ kind }) => kind === 'backend'), ...putBack].map(({ backend }) => ({
        backend,
        ...NO_FAULTS,
      })),
      ({ backend }) => backend,
    )
    for (const it of refunds) if (it.kind === 'backend') backends.add(it.backend, it)
    for (const it of putBack) backends.add(it.backend, it)

    return {
      days: days.all(),
      plans: byPlan
        .all()
        .filter(({ plan, granted, sold, spent, expired }) => plan ?? (granted || sold || spent || expired)),
      models: models.all().sort(mostSpent),
      accounts: most.map(({ id, generations, images, spent }) => ({
        ...{ username: nameOf.get(id) ?? id, generations, images, spent },
      })),
      backends: backends.all().sort((one, other) => other.failed - one.failed),
    }
  },
})

const NO_CREDITS: CreditFigures = { granted: 0, sold: 0, spent: 0, expired: 0 }
const NO_FAULTS = { failed: 0, refunded: 0, putBack: 0 }
const mostSpent = (one: GenerationFigures, other: GenerationFigures) =>
  other.spent - one.spent || other.images - one.images

/** Adds up the numbers that the rows of `zeros` have, each under its key. */
function sums<Row extends object>(zeros: readonly Row[], keyOf: (row: Row) => unknown) {
  const rows = new Map(zeros.map((row) => [keyOf(row), { ...row } as Record<string, unknown>]))
  return {
    add(key: unknown, more: object): void {
      const row = rows.get(key)
      if (!row) return
      for (const [name, value] of Object.entries(more)) if (typeof row[name] === 'number') row[name] += value
    },
    all: () => [...rows.values()] as unknown as Row[],
  }
}
