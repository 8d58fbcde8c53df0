/** Whether every account that has an endpoint was told of all its generations' ends: each once, and as it was. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { ChaosClient } from './client.js'
import type { Violation } from './history.js'
import type { ChaosUser } from './load.js'
import type { WebhookReceiver } from './receiver.js'

/** A claim that died holds its endpoint's place for 20 s, and each endpoint is sent two at a time. */
const TOLD_WITHIN_MS = 60_000
const POLLS_AT_ONCE = 8

/** As if the time of every retry had come, which may be hours away. */
const TIME_PASSES = `
  WITH rested AS (UPDATE webhook_endpoints SET not_before = '-infinity')
  UPDATE webhook_deliveries SET next_at = now() WHERE status = 'pending' AND next_at > now() + interval '20 seconds'`

interface Ended {
  readonly id: string
  readonly username: string
  readonly endpointId: string
  readonly event: string
  readonly eventIds: readonly string[]
  readonly slugs: readonly string[]
  readonly error: string | null
}

/** Every end of a generation at every endpoint of its account, and what was stored to be sent of it. */
const ENDED = `
  SELECT g.id, u.username, e.id AS "endpointId", array_remove(array_agg(d.event_id), NULL) AS "eventIds", g.slugs, g.error,
         CASE WHEN g.status = 'failed' THEN 'generation.failed' WHEN g.lane = 'personal' THEN 'generation.succeeded'
              ELSE 'image.completed' END AS event
    FROM generations g JOIN users u ON u.id = g.user_id JOIN webhook_endpoints e ON e.user_id = g.user_id
         LEFT JOIN webhook_deliveries d ON d.generation_id = g.id AND d.endpoint_id = e.id
   WHERE g.status IN ('succeeded', 'failed') AND g.created_at > e.created_at
   GROUP BY g.id, u.username, e.id`

export async function webhookViolations(
  postgres: pg.Client,
  client: ChaosClient,
  users: readonly ChaosUser[],
  { told, violations }: WebhookReceiver,
): Promise<Violation[]> {
  const found: Violation[] = [...violations]
  const accuse = (what: string) => void found.push({ invariant: 'webhook', what })
  await untilTold(postgres)

  const { rows } = await postgres.query<Ended>(ENDED)
  const known = new Set<string>()
  const judge = async ({ id, username, endpointId, event, eventIds, slugs, error }: Ended) => {
    const [eventId] = eventIds
    for (const each of eventIds) known.add(`${endpointId} ${each}`)
    if (eventIds.length !== 1) accuse(`${id} ended, which makes ${eventIds.length} events for ${endpointId}`)
    const got = told.get(`${endpointId} ${eventId}`)
    if (!eventId) return
    if (!got) return accuse(`${endpointId} was never told of ${eventId}, the end of ${id}`)
    if (got.type !== event) return accuse(`${endpointId} was told of ${id} as ${got.type} instead of ${event}`)
    if (event === 'image.completed') {
      if (got.data.image_id !== slugs[0])
        accuse(`${endpointId} was told of ${got.data.image_id} instead of ${slugs[0]}`)
      return
    }
    const user = users.find(({ name }) => name === username)
    // A developer's key may not poll.
    if (!user || user.developer) {
      if (got.data.error !== error) accuse(`${endpointId} was told that ${id} failed with ${got.data.error}`)
      return
    }
    const poll = await client.send({
      ...{ user: username, asked: { what: 'poll', id }, method: 'GET', path: `/api/v1/generate/${id}` },
      apiKey: user.key,
    })
    const said = typeof poll === 'string' ? poll : JSON.stringify(poll.body)
    if (JSON.stringify(got.data) !== said)
      accuse(`${endpointId} was told ${JSON.stringify(got.data)}, while a poll says ${said}`)
  }
  const left = [...rows]
  const work = async () => {
    for (let one = left.pop(); one; one = left.pop()) await judge(one)
  }
  await Promise.all(Array.from({ length: POLLS_AT_ONCE }, work))
  for (const key of told.keys()) if (!known.has(key)) accuse(`${key} was told, and is of nothing that has ended`)
  return found
}

async function untilTold(postgres: pg.Client): Promise<void> {
  for (const end = Date.now() + TOLD_WITHIN_MS; Date.now() < end; await delay(500)) {
    await postgres.query(TIME_PASSES)
    const { rows } = await postgres.query(
      `SELECT count(*)::integer AS n FROM webhook_deliveries WHERE status = 'pending'`,
    )
    if (rows[0].n === 0) return
  }
}
