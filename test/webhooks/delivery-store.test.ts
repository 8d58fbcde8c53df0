/** What the sending of webhooks leaves in its tables, with no server that works on them meanwhile. */
import { beforeEach, describe, expect, it } from 'vitest'
import { webhookDeliveryStore } from '../../src/db/webhook-delivery-store.js'
import { type ClaimedDelivery, newEndpointId } from '../../src/webhooks/webhook.js'
import { useDatabase } from '../support/database.js'
import { type GivenUser, givenUser } from '../support/givens.js'

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

describe('an endpoint at which nothing succeeds', () => {
  it('has been failing for days, yet each event has all of its tries before it is disabled', async () => {
    const id = await givenEndpoint(`failures = 1, failing_since = now() - interval '10 days'`)
    await givenWaiting(id)
    expect(await store().failed(await claimed(), REFUSED)).toEqual({ disabled: false })
    await query('UPDATE webhook_deliveries SET next_at = now()')
    expect(await store().failed(await claimed(), LAST)).toEqual({ disabled: true })
    expect(await endpointRow(id)).toMatchObject({
      disabled_reason: 'Nothing could be delivered for 3 days (status_not_2xx). Create it anew when it works again.',
    })
  })

  it('is not disabled by a last try that fails sooner', async () => {
    const id = await givenEndpoint(`failures = 9, failing_since = now() - interval '71 hours'`)
    await givenWaiting(id)
    expect(await store().failed(await claimed(), LAST)).toEqual({ disabled: false })
  })

  it('is disabled, too, when so much waits that no event comes to its last try', async () => {
    const id = await givenEndpoint(`failures = 9, failing_since = now() - interval '73 hours'`)
    await givenWaiting(id, 1, { created: `now() - interval '49 hours'` })
    expect(await store().failed(await claimed(), REFUSED)).toEqual({ disabled: true })
  })
})
