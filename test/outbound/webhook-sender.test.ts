import { lookup } from 'node:dns/promises'
import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { type ClaimedDelivery, newEndpointId, newEventId, newWebhookSecret } from '../../src/core/webhooks/webhook.js'
import { type SenderOptions, webhookSender } from '../../src/outbound/webhook-sender.js'
import { addressPolicy } from '../../src/outbound/webhook-targets.js'
import { givenReceiver } from '../support/webhook-receiver.js'

const sender = (options: Partial<SenderOptions> = {}) =>
  webhookSender({ policy: addressPolicy(['127.0.0.1']), allowHttp: true, timeoutMs: 60_000, ...options })

const to = (url: string): ClaimedDelivery => ({
  ...{ seq: 1, eventId: newEventId(), type: 'test', generationId: null, endpointId: newEndpointId(), accountId: 'a' },
  ...{ kind: 'account', url, secrets: [newWebhookSecret()], at: new Date(), attempts: 1, slot: 1, endpointFailures: 0 },
})
const send = (url: string, options?: Partial<SenderOptions>, signal = new AbortController().signal) =>
  sender(options).send(to(url), '{}', signal)

describe('a receiver', () => {
  it('that answers with any 2xx has got the webhook, however long its answer is or takes', async () => {
    const receiver = await givenReceiver(201)
    expect(await send(receiver.url)).toEqual({ delivered: true, status: 201 })
    receiver.behaviour = (response) => {
      response.writeHead(200)
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      }
      response.on('drain', write)
      write()
    }
    expect(await send(receiver.url)).toEqual({ delivered: true, status: 200 })
    receiver.behaviour = (response) => response.writeHead(200).write('and then nothing more')
    expect(await send(receiver.url)).toEqual({ delivered: true, status: 200 })
  })

  it('that does not answer in time, or whose name is not resolved in time, has timed out', async () => {
    const receiver = await givenReceiver('hang')
    expect(await send(receiver.url, { timeoutMs: 300 })).toEqual({ delivered: false, fault: 'timed_out' })
    const resolveHost = () => new Promise<string[]>(() => undefined)
    expect(await send('https://slow.example.com/', { resolveHost, timeoutMs: 300 })).toEqual({
      delivered: false,
      fault: 'timed_out',
    })
  })

  it.each([
    ['in time', 200, 60_000],
    ['too late', 'hang', 300],
  ] as const)('that answers %s has its name looked for no longer', async (_when, behaviour, timeoutMs) => {
    const receiver = await givenReceiver(behaviour)
    let waits: AbortSignal | undefined
    const resolveHost = async (_name: string, signal: AbortSignal) => {
      waits = signal
      return ['127.0.0.1']
    }
    await send(`http://hook.example.com:${receiver.port}/`, { resolveHost, timeoutMs })
    expect(waits?.aborted).toBe(true)
  })

  it('that breaks off, is not there, or does not speak TLS is told apart', async () => {
    const receiver = await givenReceiver((response) => response.destroy())
    expect(await send(receiver.url)).toEqual({ delivered: false, fault: 'connection_failed' })
    expect(await send('http://127.0.0.1:1025/')).toEqual({ delivered: false, fault: 'connection_failed' })
    const tls = receiver.url.replace('http:', 'https:')
    expect(await send(tls)).toEqual({ delivered: false, fault: 'tls_failed' })
    const named = { resolveHost: async () => ['127.0.0.1'] }
    expect(await send(`https://hook.example.com:${receiver.port}/`, named)).toEqual({
      delivered: false,
      fault: 'tls_failed',
    })
  })

  it('may have a name that only this machine knows, and is looked at all the same', async () => {
    const receiver = await givenReceiver(200)
    for (const name of ['localhost', hostname()]) {
      const url = receiver.url.replace('127.0.0.1', name)
      const known = (await lookup(name, { all: true })).map(({ address }) => address)
      const inside = addressPolicy([...known, '127.0.0.1'])
      expect(await send(url, { policy: inside })).not.toHaveProperty('fault', 'dns_failed')
      const elsewhere = addressPolicy(['10.255.255.1'])
      expect(await send(url, { policy: elsewhere })).toEqual({ delivered: false, fault: 'address_refused' })
    }
    expect(
      await send(receiver.url.replace('127.0.0.1', 'localhost'), { policy: addressPolicy(['127.0.0.1', '::1']) }),
    ).toEqual({
      delivered: true,
      status: 200,
    })
    const nowhere = await send('http://no-such-name.invalid/')
    expect(nowhere).toEqual({ delivered: false, fault: 'dns_failed' })
  })

  it('may say when to come back', async () => {
    const receiver = await givenReceiver((response) => response.writeHead(429, { 'retry-after': '77' }).end())
    expect(await send(receiver.url)).toEqual({
      ...{ delivered: false, status: 429, fault: 'status_not_2xx', retryAfterSeconds: 77 },
    })
  })
})

it('a send rejects when the server is told to end, so that the delivery is given back', async () => {
  const receiver = await givenReceiver('hang')
  const leaving = new AbortController()
  const sent = expect(send(receiver.url, {}, leaving.signal)).rejects.toThrow()
  await receiver.nth(1)
  leaving.abort()
  await sent
})
