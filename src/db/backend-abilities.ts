import { sql } from 'drizzle-orm'
import type { Abilities } from '../generation/failure-reason.js'
import type { Database } from './client.js'
import { LACKS } from './reconcile-store.js'

/** An answer serves every submit within this time. */
const FRESH_MS = 1000

/** Asks what the reconciler goes by, so that nothing is refused here that it would let wait. */
export function backendAbilities({ orm }: Database): Abilities {
  const known = new Map<string, { readonly since: number; readonly lack: Promise<boolean> }>()

  const ask = async (filename: string, sampler: string): Promise<boolean> => {
    const { rows } = await orm.execute(
      sql`SELECT FROM (SELECT ${filename}::text AS filename, ${sampler}::text AS sampler) g WHERE ${LACKS.sampler}`,
    )
    return rows.length > 0
  }

  return {
    lackSampler(filename, sampler) {
      const key = `${sampler} ${filename}`
      const now = performance.now()
      const last = known.get(key)
      if (last && now - last.since < FRESH_MS) return last.lack
      const lack = ask(filename, sampler)
      known.set(key, { since: now, lack })
      lack.catch(() => known.delete(key))
      return lack
    },
  }
}
