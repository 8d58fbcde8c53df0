/** What the run's subscribers are told at: keeps every event that it was sent, and often refuses or hangs. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import type { Seeded } from '../../support/seeded.js'
import type { Violation } from './history.js'

export interface Told {
  readonly endpointId: string
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came; the checks look at it
  readonly data: any
  /** As it came first; every repetition must be the same. */
  readonly text: string
}

export interface WebhookReceiver {
  /** Where an endpoint of this ID is told. */
  url(endpointId: string): string
  /** The secret that signs what comes for this endpoint. */
  expect(endpointId: string, secret: string): void
  /** By endpoint and `webhook-id`. */
  readonly told: ReadonlyMap<string, Told>
  readonly violations: readonly Violation[]
  /** How many requests were answered with what. */
  readonly answers: ReadonlyMap<string, number>
  close(): void
}

/** @param faulty whether it still fails now and then */
export async function startReceiver(chance: Seeded, faulty: () => boolean): Promise<WebhookReceiver> {
  const secrets = new Map<string, string>()
  const told = new Map<string, Told>()
  const answers = new Map<string, number>()
  const violations: Violation[] = []
  const accuse = (what: string) => void violations.push({ invariant: 'webhook', what })

  function keep(endpointId: string, headers: Record<string, string>, body: string): void {
    const eventId = headers['webhook-id']
    try {
      const { type, data } = new Webhook(secrets.get(endpointId) ?? '').verify(body, headers) as Pick<
        Told,
        'type' | 'data'
      >
      const before = told.get(`${endpointId} ${eventId}`)
      if (before && before.text !== body) accuse(`${eventId} said ${before.text}, and then ${body}`)
      if (!before) told.set(`${endpointId} ${eventId}`, { endpointId, type, data, text: body })
    } catch (error) {
      accuse(`${eventId} to ${endpointId} is not signed as it should be: ${error}`)
    }
  }

  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined)
    // Cut off on its way: its sender has died.
    if (body === undefined) return
    keep(request.url?.slice(1) ?? '', request.headers as Record<string, string>, body)
    const r = faulty() ? chance.next() : 1
    const how = r < 0.02 ? 'hang' : r < 0.05 ? 'cut' : r < 0.15 ? 500 : r < 0.18 ? 429 : 204
    answers.set(`webhook ${how}`, (answers.get(`webhook ${how}`) ?? 0) + 1)
    if (how === 'cut') request.socket.destroy()
    else if (how !== 'hang') response.writeHead(how, how === 429 ? { 'retry-after': '1' } : {}).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    ...{ told, violations, answers },
    url: (endpointId) => `http://127.0.0.1:${port}/${endpointId}`,
    expect: (endpointId, secret) => void secrets.set(endpointId, secret),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
