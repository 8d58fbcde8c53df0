import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Plan } from '../../core/accounts/plan.js'
import { type Database, withTransaction } from '../client.js'
import { plans as p, subscriptions as s } from '../schema/accounts.js'
import { modelVersions as m } from '../schema/catalog.js'
import { columns } from '../statement.js'

export const PLAN = columns(
  p,
  'name',
  'credits',
  'period',
  'carryOver',
  'signUpCredits',
  'models',
  'rateLimit',
  'forSale',
  'retiredAt',
)

/** A plan in the operator's list. */
export interface ListedPlan extends Plan {
  /** Active ones; others may still have it. */
  readonly subscribers: number
}

export const planStore = (db: Database) => {
  const { orm } = db
  return {
    /** Retired ones last. */
    list: (): Promise<ListedPlan[]> =>
      orm
        .select({
          ...PLAN,
          subscribers: sql<number>`(SELECT count(*) FROM ${s}
          WHERE ${s.plan} = ${p.name} AND ${s.status} = 'active' AND ${s.endDate} > now())`.mapWith(Number),
        })
        .from(p)
        .orderBy(sql`${p.retiredAt} IS NOT NULL`, asc(p.credits), asc(p.name)),

    async find(name: string): Promise<Plan | undefined> {
      const [plan] = await orm.select(PLAN).from(p).where(eq(p.name, name))
      return plan
    },

    /**
     * Adds plans, or changes those of the same name; a retired one is offered again. What changes for those who have it
     * applies from their next period on. Subscriptions that name a plan from before there was one get their running period.
     * Resolves to a model version that a plan names and there is not; then nothing was changed.
     */
    import: (
      plans: readonly Omit<Plan, 'retiredAt'>[],
    ): Promise<undefined | { readonly plan: string; readonly model: number }> =>
      withTransaction(db, async (orm) => {
        const known = new Set((await orm.select(columns(m, 'id')).from(m)).map(({ id }) => id))
        for (const plan of plans) {
          const model = plan.models?.find((id) => !known.has(id))
          if (model !== undefined) return { plan: plan.name, model }
        }
        for (const plan of plans) {
          const stored = { ...plan, models: plan.models && [...plan.models], retiredAt: null }
          await orm.insert(p).values(stored).onConflictDoUpdate({ target: p.name, set: stored })
          const unseen = and(eq(s.plan, plan.name), isNull(s.checkAt))
          await orm.update(s).set({ checkAt: sql`now()` }).where(unseen)
        }
        return undefined
      }),

    /** Resolves to when it was retired first; undefined: there is no such plan. */
    async retire(name: string): Promise<Date | undefined> {
      const retiredAt = sql`coalesce(${p.retiredAt}, now())`
      const [row] = await orm
        .update(p)
        .set({ retiredAt, forSale: false })
        .where(eq(p.name, name))
        .returning(columns(p, 'retiredAt'))
      return row?.retiredAt ?? undefined
    },
  }
}
