/** What the sending of webhooks leaves in its tables, with no server that works on them meanwhile. */
import { beforeEach, describe, expect, it } from 'vitest'
import { type ClaimedDelivery, newEndpointId, newWebhookSecret } from '../../../src/core/webhooks/webhook.js'
import type { ConnectionPool } from '../../../src/db/connection-pool.js'
import { webhookDeliveryStore } from '../../../src/db/webhooks/deliveries.js'
import { webhookEndpointStore } from '../../../src/db/webhooks/endpoints.js'
import { useDatabase } from '../../support/database.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const store = () => webhookDeliveryStore(context.db)
const query = async (text: string, values: unknown[] = []) => (await context.db.pool.query(text, values)).rows
let user: GivenUser

beforeEach(async () => {
  await query('DELETE FROM webhook_deliveries')
  await query('DELETE FROM webhook_endpoints')
  user = await givenUser(context.db)
})

async function givenEndpoint(state = `failures = 0`): Promise<string> {
  const id = newEndpointId()
  await query(
    `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, secret)
     VALUES ($1, $2, 'account', 'https://x.example/', '{}', 'whsec_eA==')`,
    [id, user.id],
  )
  await query(`UPDATE webhook_endpoints SET ${state} WHERE id = $1`, [id])
  return id
}

/** Tests, which need no generation. `next` and `created` are SQL. */
const givenWaiting = (endpointId: string, count = 1, { next = 'now()', created = 'now()' } = {}) =>
  query(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url, next_at, created_at)
     SELECT $1, 'evt_' || gen_random_uuid(), 'test', 'https://x.example/', ${next}, ${created}
       FROM generate_series(1, $2::integer)`,
    [endpointId, count],
  )

async function claimed(): Promise<ClaimedDelivery> {
  const delivery = await store().claim([])
  if (!delivery) throw new Error('nothing is due')
  return delivery
}

async function endpointRow(id: string) {
  const [row] = await query('SELECT * FROM webhook_endpoints WHERE id = $1', [id])
  return row
}

const REFUSED = { fault: 'status_not_2xx', status: 502, retryInSeconds: 5, pauseSeconds: 0 } as const
const LAST = { ...REFUSED, retryInSeconds: undefined }

const WAITING_FOR_A_LOCK = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

/** Begins `work` while `text` is not committed yet, and commits when `work` waits for it or is through. */
async function meanwhile(text: string, values: unknown[], work: () => Promise<unknown>): Promise<void> {
  const client = await context.db.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(text, values)
    let through = false
    const working = work().finally(() => {
      through = true
    })
    await until(async () => through || (await query(WAITING_FOR_A_LOCK)).length > 0, 'its waiting or its end')
    await client.query('COMMIT')
    await working
  } finally {
    client.release()
  }
}

describe('an endpoint at which every delivery fails', () => {
  it('is disabled after ten days only when an event has had all of its tries', async () => {
    const id = await givenEndpoint(`failures = 1, failing_since = now() - interval '10 days'`)
    await givenWaiting(id)
    expect(await store().failed(await claimed(), REFUSED)).toEqual({ disabled: false })
    await query('UPDATE webhook_deliveries SET next_at = now()')
    expect(await store().failed(await claimed(), LAST)).toEqual({ disabled: true })
    expect(await endpointRow(id)).toMatchObject({
      disabled_reason: 'Nothing could be delivered for 3 days (status_not_2xx). A test enables it again.',
    })
  })

  it('is not disabled by an event’s last try within three days', async () => {
    const id = await givenEndpoint(`failures = 9, failing_since = now() - interval '71 hours'`)
    await givenWaiting(id)
    expect(await store().failed(await claimed(), LAST)).toEqual({ disabled: false })
  })

  it('is not blamed for an event that can not be sent because its image was removed', async () => {
    const id = await givenEndpoint(`failures = 4, failing_since = now() - interval '10 days'`)
    await givenWaiting(id)
    const removed = { ...LAST, fault: 'picture_removed', status: undefined, pauseSeconds: 60 } as const
    expect(await store().failed(await claimed(), removed)).toEqual({ disabled: false })
    expect(await endpointRow(id)).toMatchObject({ failures: 4, disabled_at: null })
  })

  it('is disabled, too, after three days in which an event has waited for two and never had its last try', async () => {
    const id = await givenEndpoint(`failures = 9, failing_since = now() - interval '73 hours'`)
    await givenWaiting(id, 1, { created: `now() - interval '49 hours'` })
    expect(await store().failed(await claimed(), REFUSED)).toEqual({ disabled: true })
  })
})

it('a delivery’s record is of its last try, without a status when that was not answered', async () => {
  await givenWaiting(await givenEndpoint())
  await store().failed(await claimed(), REFUSED)
  await query('UPDATE webhook_deliveries SET next_at = now()')
  await store().failed(await claimed(), { ...REFUSED, fault: 'timed_out', status: undefined })
  expect(await query('SELECT last_status, last_error FROM webhook_deliveries')).toEqual([
    { last_status: null, last_error: 'timed_out' },
  ])
})

describe('deliveries to an endpoint that has recovered', () => {
  it('are all brought forward, a page every ten seconds, though two servers do so at once', async () => {
    const id = await givenEndpoint()
    await givenWaiting(id, 2500, { next: `now() + interval '8 hours'` })
    await Promise.all([store().retryNow(id), store().retryNow(id)])
    const [row] = await query(
      `SELECT count(*) FILTER (WHERE next_at > now() + interval '1 hour') AS late,
              extract(epoch FROM max(next_at) - min(next_at))::float AS seconds FROM webhook_deliveries`,
    )
    expect(row.late).toBe(0)
    // Two pages at least: each server may have taken one of the first ten seconds.
    expect(row.seconds).toBeGreaterThan(15)
  })

  it('are left alone when another server has begun to send them', async () => {
    const id = await givenEndpoint()
    await givenWaiting(id, 1, { next: `now() + interval '8 hours'` })
    const lease = new Date(Date.now() + 20_000)
    await meanwhile(
      'UPDATE webhook_deliveries SET attempts = 1, next_at = $2 WHERE endpoint_id = $1',
      [id, lease],
      () => store().retryNow(id),
    )
    expect(await query('SELECT next_at FROM webhook_deliveries')).toEqual([{ next_at: lease }])
  })
})

it('cleaning keeps an old origin of webhook_url that a request names again at that moment', async () => {
  const origin = 'https://x.example'
  const endpoints = webhookEndpointStore(context.db, newEndpointId, async () => undefined)
  await endpoints.admitOrigin(user.id, origin, newWebhookSecret(), 50)
  await query(`UPDATE webhook_endpoints SET created_at = now() - interval '31 days'`)
  await meanwhile(`UPDATE webhook_endpoints SET created_at = now() WHERE url = $1`, [origin], () => store().clean())
  expect(await query('SELECT url FROM webhook_endpoints')).toEqual([{ url: origin }])
})

describe('the claim of a delivery', () => {
  const due = async (): Promise<string | undefined> => (await store().claim([]))?.endpointId
  const dueAt = async (id: string) => (await endpointRow(id)).due_at

  it('takes the endpoints in turn, however much waits for one', async () => {
    const [much, little] = [await givenEndpoint(), await givenEndpoint()]
    await givenWaiting(much, 3)
    await givenWaiting(little, 1)
    expect([await due(), await due(), await due(), await due()]).toEqual([much, little, much, undefined])
  })

  it('passes over endpoints at which nothing can be sent before a later time, until then', async () => {
    const later = `now() + interval '1 hour'`
    const resting = await givenEndpoint(`not_before = ${later}`)
    await givenWaiting(resting)
    const waiting = await givenEndpoint()
    await givenWaiting(waiting, 2, { next: later })
    const busy = await givenEndpoint(`slot_1_until = ${later}, slot_2_until = ${later}`)
    await givenWaiting(busy)
    const idle = await givenEndpoint('due_at = now()')
    expect(await due()).toBe(undefined)
    for (const id of [resting, waiting, busy]) expect((await dueAt(id)).getTime()).toBeGreaterThan(Date.now() + 1e6)
    expect(await dueAt(idle)).toBe(Number.POSITIVE_INFINITY)
    await query(`UPDATE webhook_deliveries SET next_at = now() WHERE endpoint_id = $1`, [waiting])
    expect(await due()).toBe(waiting)
  })

  it('takes at most two of an endpoint, and the next when one has ended or its lease has run out', async () => {
    const id = await givenEndpoint()
    await givenWaiting(id, 3)
    const [first, second] = [await claimed(), await claimed()]
    expect(await due()).toBe(undefined)
    await store().delivered(first, 200)
    expect(await due()).toBe(id)
    await store().releaseClaim(second)
    expect(await due()).toBe(id)
    expect(await due()).toBe(undefined)
    const passed = `now() - interval '1 second'`
    await query(`UPDATE webhook_deliveries SET next_at = ${passed} WHERE status = 'pending'`)
    await query(`UPDATE webhook_endpoints SET slot_1_until = ${passed}, slot_2_until = ${passed}`)
    expect([await due(), await due()]).toEqual([id, id])
  })

  it('finds what is due behind many endpoints at which there is nothing to send', async () => {
    for (let i = 0; i < 120; i++) await givenEndpoint(`due_at = now() - interval '1 minute'`)
    const id = await givenEndpoint()
    await givenWaiting(id)
    expect(await due()).toBe(id)
  })

  it('misses no delivery that is stored at the same time', async () => {
    const id = await givenEndpoint('due_at = now()')
    let through = false
    const looking = (async () => {
      while (!through)
        await store()
          .claim([])
          .then((claim) => claim && store().delivered(claim, 200))
    })()
    for (let i = 0; i < 200; i++) await givenWaiting(id)
    await until(async () => {
      const [row] = await query(`SELECT count(*)::integer AS n FROM webhook_deliveries WHERE status = 'pending'`)
      return row.n === 0
    }, 'the end of what waits')
    through = true
    await looking
  })

  it('reads the rows of endpoints that are due, not of all', async () => {
    const client = await context.db.pool.connect()
    try {
      await client.query(
        `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, secret)
         SELECT 'wh_' || n, $1, 'account', 'https://x.example/' || n, '{}', 's' FROM generate_series(1, 3000) n`,
        [user.id],
      )
      // Those of this connection may be from when the table was nearly empty: each delivery would read all endpoints.
      await client.query('DISCARD PLANS')
      await client.query(
        `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url, next_at)
         SELECT id, 'evt', 'test', url, now() + interval '1 hour' FROM webhook_endpoints`,
      )
      // The counters still hold what this connection has read in the last second: only the difference counts.
      const rowsRead = async () => {
        const { rows } = await client.query(
          `SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::integer AS n FROM pg_stat_xact_user_tables
            WHERE relname IN ('webhook_endpoints', 'webhook_deliveries')`,
        )
        return rows[0].n as number
      }
      await client.query('BEGIN')
      const before = await rowsRead()
      expect(await webhookDeliveryStore({ ...context.db, pool: client as unknown as ConnectionPool }).claim([])).toBe(
        undefined,
      )
      expect((await rowsRead()) - before).toBeLessThan(100)
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })
})
