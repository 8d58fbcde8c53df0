import { setTimeout as delay } from 'node:timers/promises'
import Stripe from 'stripe'
import type { Clock } from './clock.js'
import type { Objects, StripeEvent, StripeObject } from './objects.js'

/** Of the types in node_modules/stripe that this stand-in follows. */
export const API_VERSION = '2026-10-28.endive'

export interface WebhookEndpoint {
  readonly url: string
  readonly secret: string
}

export interface Delivery {
  /** As they came about, unless they are shuffled. */
  readonly order?: 'created' | 'reversed' | 'shuffled'
  /** Each is posted so often. */
  readonly times?: number
  /** At once; 8, unless it says otherwise. */
  readonly parallel?: number
}

const signer = new Stripe('sk_test_signer').webhooks

/** A body and its `Stripe-Signature`, as Stripe would post it now, or at another time. */
export function signed(event: unknown, secret: string, at = Math.floor(Date.now() / 1000)) {
  const body = JSON.stringify(event, undefined, 2)
  return { body, signature: signer.generateTestHeaderString({ payload: body, secret, timestamp: at }) }
}

/** What has happened in the account, and what of it an endpoint has been told. */
export function createEvents(objects: Objects, clock: Clock) {
  const events: StripeEvent[] = []
  /** Not yet taken by the endpoint. */
  const waiting = new Set<StripeEvent>()
  let endpoint: WebhookEndpoint | undefined
  let isHeld = false
  let sending = Promise.resolve()

  async function post(event: StripeEvent): Promise<boolean> {
    if (!endpoint) return false
    const { body, signature } = signed(event, endpoint.secret)
    const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature }
    const { status } = await fetch(endpoint.url, { method: 'POST', headers, body }).catch(() => ({ status: 0 }))
    if (status >= 200 && status < 300) return waiting.delete(event) || true
    return false
  }

  async function all(chosen: readonly StripeEvent[], parallel: number): Promise<number> {
    const left = [...chosen]
    let taken = 0
    const next = async () => {
      for (let event = left.shift(); event; event = left.shift()) if (await post(event)) taken++
    }
    await Promise.all(Array.from({ length: parallel }, next))
    return taken
  }

  return {
    list: events as readonly StripeEvent[],

    /** Keeps an object as it is now, and posts it to the endpoint. */
    emit(type: string, object: StripeObject): void {
      const event: StripeEvent = {
        ...{ id: objects.newId('evt'), object: 'event', api_version: API_VERSION, created: clock.now() },
        ...{ type, livemode: false, data: { object: structuredClone(object) }, pending_webhooks: 1 },
        request: { id: null, idempotency_key: null },
      }
      events.push(event)
      waiting.add(event)
      if (endpoint && !isHeld) sending = sending.then(() => post(event)).then(() => undefined)
    },

    /** From now on events are posted there, one after the other. */
    sendTo: (to: WebhookEndpoint | undefined) => {
      endpoint = to
    },
    /** Keeps events until `deliver`. */
    hold: () => {
      isHeld = true
    },
    release: () => {
      isHeld = false
    },
    /** When all that was posted of its own accord is answered. */
    sent: async () => {
      for (let last: unknown; last !== sending; await delay(0)) {
        last = sending
        await sending
      }
    },
    /** Posts what the endpoint has not taken, or `these`. @returns how many answers were a 2xx */
    deliver({ order = 'created', times = 1, parallel = 8 }: Delivery = {}, these?: readonly StripeEvent[]) {
      const chosen = [...(these ?? waiting)]
      const ordered = order === 'reversed' ? chosen.toReversed() : chosen
      const repeated = Array.from({ length: times }, () => ordered).flat()
      return all(order === 'shuffled' ? shuffled(repeated) : repeated, parallel)
    },
    waiting: (): readonly StripeEvent[] => [...waiting],
  }
}

export type Events = ReturnType<typeof createEvents>

function shuffled<T>(items: readonly T[]): T[] {
  const mixed = [...items]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1))
    const kept = mixed[at] as T
    mixed[at] = mixed[other] as T
    mixed[other] = kept
  }
  return mixed
}
