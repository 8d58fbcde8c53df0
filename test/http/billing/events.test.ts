import { describe, expect, it } from 'vitest'
import { paymentReceiver } from '../../../src/core/billing/receive.js'
import { paymentEventStore } from '../../../src/db/billing/payment-events.js'
import { paymentFaultStore } from '../../../src/db/billing/payment-faults.js'
import { createDatabase } from '../../../src/db/client.js'
import { openMetrics } from '../../../src/telemetry/metrics/open-metrics.js'
import { buildBareApp } from '../../support/bare-app.js'
import { freePort } from '../../support/free-port.js'
import { creditsOf, givenUser } from '../../support/givens.js'
import { memoryPayments } from '../../support/memory-payments.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const provider = memoryPayments()
const metrics = openMetrics({ process: 'server', version: 'test' })
const context = useService({ server: { payment: { provider, graceDays: 3 }, metrics } })

async function post(
  { body, signature }: { readonly body: string; readonly signature?: string },
  url = context.service.url,
) {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    ...(signature && { 'stripe-signature': signature }),
  }
  const response = await fetch(url.includes('#') ? url : `${url}/billing/stripe`, { method: 'POST', headers, body })
  return { status: response.status, body: await response.json() }
}

const eventOf = async (id: string) =>
  (await context.service.db.pool.query('SELECT * FROM payment_events WHERE id = $1', [id])).rows[0]
const counted = async (result: string) =>
  Number(new RegExp(`easel_payment_events_total{result="${result}"} (\\d+)`).exec(await metrics.text())?.[1])

describe('an event of the payment provider', () => {
  it('that is signed is kept, and what it tells of is worked off at once', async () => {
    const { service } = context
    const user = await givenUser(service.db, { credits: 0 })
    provider.payments.set('pi_1', {
      ...{ id: 'pi_1', customer: null, isPaid: true, paidAt: new Date(), amount: 500, currency: 'eur', returned: 0 },
      of: { pack: 'Small', credits: 70, accountId: user.id },
    })
    const event = provider.signed({ id: 'evt_paid', about: { kind: 'payment', id: 'pi_1' }, body: { amount: 500 } })
    expect(await post(event)).toEqual({ status: 200, body: { received: true } })
    // Many addresses are written with a slash at the end.
    expect(await post(provider.signed({}), `${service.url}/billing/stripe/#`)).toMatchObject({ status: 200 })
    await until(async () => (await creditsOf(service.db, user)) === 70, 'the credits')
    await until(async () => (await eventOf('evt_paid')).worked_off_at !== null, 'the event is worked off')
    expect(await post(event)).toMatchObject({ status: 200 })
    expect(await eventOf('evt_paid')).toMatchObject({ kind: 'payment', object_id: 'pi_1', body: { amount: 500 } })
    expect(await counted('repeated')).toBe(1)
  })

  it('that Easel does not use is kept, and nothing is asked', async () => {
    const asked = provider.asked.length
    expect(await post(provider.signed({ id: 'evt_other', type: 'radar.early_fraud_warning.created' }))).toMatchObject({
      status: 200,
    })
    expect(await eventOf('evt_other')).toMatchObject({ kind: null, worked_off_at: null })
    expect(provider.asked).toHaveLength(asked)
  })

  it('is refused with a wrong signature, with none, changed, or too old, and counted', async () => {
    const before = await counted('refused')
    const event = provider.signed({ id: 'evt_forged' })
    const forged = memoryPayments('another secret').signed({ id: 'evt_forged' })
    const changed = { ...event, body: event.body.replace('evt_forged', 'evt_other2') }
    const old = provider.signed({ id: 'evt_forged' }, new Date(Date.now() - 3_600_000))
    for (const wrong of [forged, changed, old, { body: event.body }, { body: '', signature: 'x' }])
      expect(await post(wrong)).toEqual({
        status: 400,
        body: { error: expect.stringMatching(/^This event is not signed .+ check the secret and the clock\.$/) },
      })
    expect(await eventOf('evt_forged')).toBeUndefined()
    expect(await counted('refused')).toBeGreaterThan(before)
  })

  it('that is refused is shown to operators as one fault, if it had a signature at all', async () => {
    const { pool } = context.service.db
    const { signature } = provider.signed({}, new Date(Date.now() - 3_600_000))
    for (const wrong of ['', signature, memoryPayments('another secret').signed({}).signature]) {
      const noted: string[] = []
      const note = async ({ sentence }: { readonly sentence: string }) => void noted.push(sentence)
      const receiver = paymentReceiver(provider, paymentEventStore(context.service.db), { note })
      if (receiver.mayBeSigned(wrong)) expect(await receiver.receive(Buffer.from('{}'), wrong)).toBe('refused')
      expect(noted).toEqual(wrong === '' ? [] : [expect.stringContaining('set the secret of that endpoint')])
    }
    await post(memoryPayments('another secret').signed({}))
    const isNoted = async () =>
      (await pool.query(`SELECT FROM payment_faults WHERE sentence LIKE 'Events were refused%'`)).rows.length === 1
    await until(isNoted, 'the fault')
  })

  it('of any size that the provider sends is read, and none beyond it', async () => {
    const large = provider.signed({ id: 'evt_large', body: { text: 'x'.repeat(900_000) } })
    expect(await post(large)).toMatchObject({ status: 200 })
    const { signature } = provider.signed({})
    expect(await post({ body: 'x'.repeat(1_100_000), signature })).toMatchObject({ status: 413 })
  })

  it('is to be sent again while Postgres is away', async () => {
    const db = createDatabase(`postgres://x:x@127.0.0.1:${await freePort()}/x`, {
      maxConnections: 1,
      onError: () => undefined,
    })
    const receiver = paymentReceiver(provider, paymentEventStore(db), paymentFaultStore(db))
    const app = await buildBareApp({ billing: { provider: 'stripe', receiver } })
    const { body, signature } = provider.signed({})
    const answer = await app.inject({
      ...{ method: 'POST', url: '/billing/stripe', payload: body },
      headers: { 'stripe-signature': signature, 'content-type': 'application/json' },
    })
    expect(answer.statusCode).toBe(503)
    await app.close()
    await db.pool.end()
  })

  it('has no address where nothing is sold', async () => {
    const app = await buildBareApp()
    const { body, signature } = provider.signed({})
    const answer = await app.inject({
      ...{ method: 'POST', url: '/billing/stripe', payload: body },
      headers: { 'stripe-signature': signature, 'content-type': 'application/json' },
    })
    expect(answer.statusCode).toBe(404)
    await app.close()
  })
})
