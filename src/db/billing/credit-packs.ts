import { asc, eq, sql } from 'drizzle-orm'
import type { CreditPack } from '../../core/billing/credit-pack.js'
import { type Database, withTransaction } from '../client.js'
import { creditPacks as p } from '../schema/billing.js'
import { columns } from '../statement.js'

const PACK = columns(p, 'name', 'credits', 'price', 'retiredAt')

export const creditPackStore = (db: Database) => ({
  /** Retired ones last. */
  list: (): Promise<CreditPack[]> =>
    db.orm.select(PACK).from(p).orderBy(sql`${p.retiredAt} IS NOT NULL`, asc(p.credits), asc(p.name)),

  /** Adds packs, or changes those of the same name. Who has paid gets what was offered then. */
  import: (packs: readonly CreditPack[]): Promise<void> =>
    withTransaction(db, async (orm) => {
      // In one order: of two imports at once, one waits for the other.
      for (const pack of packs.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
        await orm.insert(p).values(pack).onConflictDoUpdate({ target: p.name, set: pack })
    }),

  /** Resolves to when it was retired first; undefined: there is no such pack. */
  async retire(name: string): Promise<Date | undefined> {
    const retiredAt = sql`coalesce(${p.retiredAt}, now())`
    const [row] = await db.orm.update(p).set({ retiredAt }).where(eq(p.name, name)).returning(columns(p, 'retiredAt'))
    return row?.retiredAt ?? undefined
  },
})
