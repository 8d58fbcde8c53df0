/** API keys with limits, which the load uses up. */
import type pg from 'pg'
import type { Violation } from './history.js'
import type { ChaosUser } from './load.js'

/** Of the nth such key: some are used up within seconds, others are not in minutes. */
export const creditsOfKey = (n: number): number => 2 * 6 ** n

/** What each key has spent after each charge and refund, at its most, and what else than it may it has drawn with. */
const SPENT = `
  SELECT u.username, max(spent)::integer AS spent, array_agg(DISTINCT model) AS models
    FROM (SELECT g.user_id, g.api_key_id, g.model_version_id AS model,
                 sum(-l.delta) OVER (PARTITION BY g.api_key_id ORDER BY l.id) AS spent
            FROM credit_ledger l JOIN generations g ON g.id = l.generation_id) it
    JOIN users u ON u.id = it.user_id JOIN api_keys k ON k.id = it.api_key_id
   WHERE u.username = ANY ($1) GROUP BY 1`

/** At no moment more was charged to a key than its limit, and nothing was drawn with a model that it may not use. */
export async function limitViolations(client: pg.Client, users: readonly ChaosUser[]): Promise<Violation[]> {
  const limits = new Map(users.flatMap(({ name, limit }) => (limit ? [[name, limit]] : [])))
  const { rows } = await client.query<{ username: string; spent: number; models: string[] }>(SPENT, [
    [...limits.keys()],
  ])
  return rows.flatMap(({ username, spent, models }) => {
    const { credits, models: allowed } = limits.get(username) ?? { credits: 0, models: [] }
    const others = models.filter((id) => !allowed.includes(Number(id)))
    return [
      ...(spent > credits ? [`the key of ${username} may spend ${credits} credits and had spent ${spent}`] : []),
      ...(others.length > 0 ? [`the key of ${username} was used with model ${others}, and may use ${allowed}`] : []),
    ].map((what) => ({ invariant: 'limit', what }))
  })
}
