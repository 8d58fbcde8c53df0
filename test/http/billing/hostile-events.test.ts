import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { paymentReceiver } from '../../../src/core/billing/receive.js'
import { paymentEventStore } from '../../../src/db/billing/payment-events.js'
import { paymentFaultStore } from '../../../src/db/billing/payment-faults.js'
import { stripeProvider } from '../../../src/payment/stripe/stripe-provider.js'
import { buildBareApp } from '../../support/bare-app.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const SECRET = 'whsec_easel'
const provider = await stripeProvider({ secretKey: 'sk_test_x', webhookSecret: SECRET, apiUrl: 'http://127.0.0.1:1' })
const context = useService({ server: { payment: { provider, graceDays: 3 } } })

const now = () => Math.floor(Date.now() / 1000)

function signatureOf(body: Buffer, at = now()): string {
  const signature = createHmac('sha256', SECRET).update(`${at}.`).update(body).digest('hex')
  return `t=${at},v1=${signature}`
}

async function post(body: string): Promise<number> {
  const bytes = Buffer.from(body)
  const response = await fetch(`${context.service.url}/billing/stripe`, {
    ...{ method: 'POST', body: bytes },
    headers: { 'content-type': 'application/json', 'stripe-signature': signatureOf(bytes) },
  })
  await response.arrayBuffer()
  return response.status
}

const rows = async (query: string) => (await context.service.db.pool.query(query)).rows
const faults = async () => (await rows('SELECT sentence FROM payment_faults')).map(({ sentence }) => sentence as string)

let made = 0
function eventOf(more: Record<string, unknown> = {}, object: Record<string, unknown> = {}) {
  const id = `evt_hostile_${++made}`
  const its = { id: 'sub_1', object: 'subscription', status: 'active', customer: 'cus_1', ...object }
  return { id, object: 'event', type: 'customer.subscription.updated', created: now(), data: { object: its }, ...more }
}

describe('a signed event that cannot be kept as it is', () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const text = (more?: Record<string, unknown>, object?: Record<string, unknown>) =>
    JSON.stringify(eventOf(more, object))

  it.each([
    ['NUL in its ID', () => text({ id: 'evt_\0' })],
    ['NUL in its type', () => text({ type: 'customer.\0' })],
    ['a lone surrogate in its ID', () => text({ id: 'evt_\ud800' })],
    ['an ID longer than an index takes', () => text({ id: `evt_${'x'.repeat(9000)}` })],
    ['an ID that is a number', () => text({ id: 7 })],
    ['no ID', () => text({ id: undefined })],
    ['no type', () => text({ type: null })],
    ['NUL in the ID of its subscription', () => text({}, { id: 'sub_\0' })],
    ['an endless ID of its subscription', () => text({}, { id: 'x'.repeat(9000) })],
    ['no data', () => text({ data: null })],
    ['a list as data', () => text({ data: [] })],
    ['no time', () => text({ created: null })],
    ['a time that is text', () => text({ created: 'NaN' })],
    ['a time beyond all calendars', () => text({ created: 1e300 })],
    ['a time before all calendars', () => text({ created: -1e14 })],
    ['NaN, which is no JSON', () => text().replace(/"created":\d+/, '"created":NaN')],
    ['a thin event', () => text({ object: 'v2.core.event', created: '2026-01-01T00:00:00Z', data: undefined })],
    ['a list', () => '[]'],
    ['null', () => 'null'],
    ['text', () => '"evt_1"'],
    ['half a document', () => text().slice(0, -9)],
  ])('(%s) is answered, so that it does not come again, and shown to operators', async (_what, body) => {
    await context.service.db.pool.query('DELETE FROM payment_faults')
    expect(await post(body())).toBe(200)
    expect(await faults()).toEqual([
      expect.stringMatching(/^An event of the payment provider \(".*"\) was signed, but could not be used: .+\.$/s),
    ])
  })

  it.each([
    ['NUL in its metadata', () => text({}, { metadata: { 'a\0': 'b\0', c: '\udc00' } })],
    ['NUL in its status', () => text({}, { status: 'act\0ive' })],
    ['an object where a word should be', () => text({}, { status: { a: ['\0'] } })],
    ['metadata that is text', () => text({}, { metadata: '\0' })],
    ['metadata as deep as it is long', () => text({}, { metadata: { a: 0 } }).replace('"a":0', `"a":${deep}`)],
    ['a customer with NUL', () => text({}, { customer: 'cus_\0' })],
    ['a customer that is an endless text', () => text({}, { customer: 'c'.repeat(9000) })],
    ['numbers without end', () => text({}, { amount: 1 }).replace('"amount":1', '"amount":1e999')],
    ['a name that objects have', () => text({}, {}).replace('"status"', '"__proto__":{"id":"x"},"status"')],
  ])('(%s) still says what to ask for', async (_what, body) => {
    expect(await post(body())).toBe(200)
    expect(await rows(`SELECT kind, object_id FROM payment_events ORDER BY seq DESC LIMIT 1`)).toEqual([
      { kind: 'subscription', object_id: 'sub_1' },
    ])
  })

  it('is counted once, however often it comes', async () => {
    await context.service.db.pool.query('DELETE FROM payment_faults')
    expect([await post('[1]'), await post('[1]')]).toEqual([200, 200])
    expect(await rows('SELECT times FROM payment_faults')).toEqual([{ times: 2 }])
    expect(await rows(`SELECT type FROM payment_events WHERE id LIKE 'unreadable%' AND body = '{}'`)).not.toEqual([])
  })
})

describe('a body that nobody has signed', () => {
  /** Says that a body comes, and sends nothing of it. */
  function announce(url: string, signature: string | undefined, length: number | 'chunked') {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket.on('data', (data) => (text += data))
    socket.on('error', () => undefined)
    const size = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
    const signed = signature === undefined ? '' : `Stripe-Signature: ${signature}\r\n`
    socket.write(`POST /billing/stripe HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${size}\r\n${signed}\r\n`)
    return {
      socket,
      text: () => text,
      answered: (status: number) => until(() => text.startsWith(`HTTP/1.1 ${status}`), `a ${status}`),
    }
  }
  const forged = () => `t=${now()},v1=${'0'.repeat(64)}`

  it.each([
    ['no signature', () => undefined],
    ['an empty one', () => ''],
    ['none of the form', () => 'v1=1'],
    ['a short one', () => `t=${now()},v1=${'0'.repeat(63)}`],
    ['none of its scheme', () => `t=${now()},v0=${'0'.repeat(64)}`],
    ['an old one', () => `t=${now() - 400},v1=${'0'.repeat(64)}`],
    ['no time', () => `t=now,v1=${'0'.repeat(64)}`],
  ])('is not read: %s', async (_what, signature) => {
    for (const length of [1_000_000, 'chunked', 300] as const)
      await announce(context.service.url, signature(), length).answered(400)
  })

  it('takes a place of few for its network when it is large; small ones are read meanwhile', async () => {
    const { db } = context.service
    const receiver = paymentReceiver(provider, paymentEventStore(db), paymentFaultStore(db))
    const largeBodies = { total: 3, perHolder: 2, patienceMs: 50, bodyMs: 60_000 }
    const app = await buildBareApp({ billing: { provider: 'stripe', receiver, largeBodies } })
    onTestFinished(() => app.close())
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const held = [announce(url, forged(), 1_000_000), announce(url, forged(), 'chunked')]
    await until(async () => {
      const third = announce(url, forged(), 70_000)
      await until(() => third.text() !== '' || third.socket.destroyed, 'an answer')
      return third.text().startsWith('HTTP/1.1 503') && third.text().toLowerCase().includes('retry-after')
    }, 'both places are taken')
    const small = Buffer.from(JSON.stringify(eventOf()))
    const answer = await fetch(`${url}/billing/stripe`, {
      ...{ method: 'POST', body: small, headers: { 'stripe-signature': signatureOf(small) } },
    })
    expect(answer.status).toBe(200)
    // Whoever goes gives the place back.
    for (const { socket } of held) socket.destroy()
    const large = Buffer.from(JSON.stringify(eventOf({}, { text: 'x'.repeat(900_000) })))
    await until(async () => {
      const headers = { 'stripe-signature': signatureOf(large) }
      const { status } = await fetch(`${url}/billing/stripe`, { method: 'POST', body: large, headers })
      return status === 200
    }, 'a large event is read')
  })

  it('keeps its place for a moment only, so that the provider gets a turn', async () => {
    const { db } = context.service
    const receiver = paymentReceiver(provider, paymentEventStore(db), paymentFaultStore(db))
    const largeBodies = { total: 1, perHolder: 1, patienceMs: 12_000, bodyMs: 1000 }
    const app = await buildBareApp({ billing: { provider: 'stripe', receiver, largeBodies } })
    onTestFinished(() => app.close())
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const held = [1, 2, 3].map(() => announce(url, forged(), 1_000_000))
    const large = Buffer.from(JSON.stringify(eventOf({}, { text: 'x'.repeat(900_000) })))
    const headers = { 'stripe-signature': signatureOf(large) }
    expect((await fetch(`${url}/billing/stripe`, { method: 'POST', body: large, headers })).status).toBe(200)
    await until(() => held.every(({ socket }) => socket.destroyed), 'the end of those that sent nothing')
  })
})
