import { and, asc, eq, inArray, isNull, notInArray, sql } from 'drizzle-orm'
import { closest, distance } from 'fastest-levenshtein'
import type { Plan } from '../../core/accounts/plan.js'
import type { ListedPlan, OperatorPlans, UnlistedPlan } from '../../core/operator/plans.js'
import { readingOf } from '../../lib/text.js'
import { type Database, withTransaction } from '../client.js'
import { plans as p, subscriptions as s, users as u } from '../schema/accounts.js'
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
  'retainPromptsDays',
  'retainImagesDays',
  'forSale',
  'retiredAt',
  'price',
)

/** Why plans were not imported. */
export type PlanRefusal =
  | { readonly plan: string; readonly model: number }
  | { readonly plan: string; readonly price: string; readonly other: string }
  | { readonly plan: string; readonly alike: string }

/** Whoever pays a price has its plan: so it is the price of one plan only. */
async function pricedTwice(orm: Database['orm'], plans: readonly Plan[]): Promise<PlanRefusal | undefined> {
  const stored = await orm.select(columns(p, 'name', 'price')).from(p)
  const others = stored.filter(({ name }) => !plans.some((it) => it.name === name))
  for (const [index, { name: plan, price }] of plans.entries()) {
    const other = price !== null && [...others, ...plans.slice(0, index)].find((it) => it.price === price)
    if (other) return { plan, price, other: other.name }
  }
  return undefined
}

/** A new plan that people would take for another one. Those that there are keep their names. */
async function readLikeOthers(orm: Database['orm'], plans: readonly Plan[]): Promise<PlanRefusal | undefined> {
  const stored = (await orm.select(columns(p, 'name')).from(p)).map(({ name }) => name)
  const names = new Map(stored.map((name) => [readingOf(name), name]))
  for (const { name: plan } of plans) {
    const alike = names.get(readingOf(plan))
    if (alike !== undefined && alike !== plan && !stored.includes(plan)) return { plan, alike }
    names.set(readingOf(plan), plan)
  }
  return undefined
}

const SHOWN_PLANS = 5

/** With the plan that is most likely meant. @param plans that there are, those on sale first */
function unlistedOf(name: string, plans: readonly string[]): UnlistedPlan {
  const readings = new Map(plans.toReversed().map((it) => [readingOf(it), it]))
  const reading = readingOf(name)
  const near = closest(reading, [...readings.keys()])
  const isNear = distance(reading, near) <= Math.max(2, Math.floor(near.length / 3))
  return { name, nearest: isNear ? readings.get(near) : undefined, plans: plans.slice(0, SHOWN_PLANS) }
}

/** Subscriptions, in one statement, which has its time limit. */
const SEEN_AT_ONCE = 10_000

export const planStore = (db: Database) => {
  const { orm } = db
  const names = async () =>
    (
      await orm.select(columns(p, 'name')).from(p).orderBy(sql`${p.retiredAt} IS NOT NULL`, asc(p.credits), asc(p.name))
    ).map(({ name }) => name)
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
     * Adds plans, or changes those of the same name; one that was retired is on offer again unless its entry says otherwise.
     * What changes for those who have it applies from their next period on. Subscriptions that name a plan from before there
     * was one get their running period. Resolves to a model version that a plan names and there is not, or to
     * a plan that already has the price of another, or a name like another's; then nothing was changed.
     */
    import: (plans: readonly Plan[]): Promise<undefined | PlanRefusal> =>
      withTransaction(db, async (orm) => {
        const known = new Set((await orm.select(columns(m, 'id')).from(m)).map(({ id }) => id))
        for (const plan of plans) {
          const model = plan.models?.find((id) => !known.has(id))
          if (model !== undefined) return { plan: plan.name, model }
        }
        const refused = (await pricedTwice(orm, plans)) ?? (await readLikeOthers(orm, plans))
        if (refused) return refused
        // In one order: of two imports at once, one waits for the other.
        for (const plan of plans.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
          const stored = { ...plan, models: plan.models && [...plan.models] }
          await orm.insert(p).values(stored).onConflictDoUpdate({ target: p.name, set: stored })
          // Also those that are due: the reconciler may just be leaving one that it found without its plan.
          const unseen = and(
            eq(s.plan, plan.name),
            sql`${s.periodPlan} IS DISTINCT FROM ${s.plan} AND ${s.checkAt} IS DISTINCT FROM now()`,
          )
          const page = orm.select(columns(s, 'userId')).from(s).where(unseen).limit(SEEN_AT_ONCE)
          const see = () => orm.update(s).set({ checkAt: sql`now()` }).where(inArray(s.userId, page))
          while ((await see()).rowCount === SEEN_AT_ONCE);
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

    async unlisted(of: readonly string[]) {
      const plans = await names()
      return plans.length === 0 ? [] : of.filter((it) => !plans.includes(it)).map((it) => unlistedOf(it, plans))
    },

    async unlistedInUse() {
      const plans = await names()
      if (plans.length === 0) return []
      const rows = await orm
        .select({ name: s.plan, accounts: sql<number>`count(*)`.mapWith(Number) })
        .from(s)
        .innerJoin(u, and(eq(u.id, s.userId), isNull(u.deletedAt)))
        .where(and(notInArray(s.plan, plans), sql`${s.endDate} > now()`))
        .groupBy(s.plan)
        .orderBy(asc(s.plan))
      return rows.map(({ name, accounts }) => ({ ...unlistedOf(name, plans), accounts }))
    },
  } satisfies OperatorPlans & Record<string, unknown>
}
