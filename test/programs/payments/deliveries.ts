/** The stand-in's events on their way to Easel: each twice, in any order, some late, some forged. */
import { setTimeout as delay } from 'node:timers/promises'
import type { StripeEvent } from '../../stand-ins/stripe/objects.js'
import { type StripeStandIn, signed } from '../../stand-ins/stripe/stripe-stand-in.js'
import type { Seeded } from '../../support/seeded.js'

const AT_ONCE = 8
/** Of the events, those that are posted last of all. */
const DELAYED = 0.2
const FORGED = 0.05

export interface DeliveriesOptions {
  readonly stripe: StripeStandIn
  readonly webhookSecret: string
  readonly chance: Seeded
  /** Of the servers that run now. */
  readonly urls: () => readonly string[]
}

/** Posts as Stripe does: until it is taken. */
export function deliveries({ stripe, webhookSecret, chance, urls }: DeliveriesOptions) {
  stripe.events.hold()
  const own = chance.fork('posts')
  const late: StripeEvent[] = []
  let told = 0
  let posted = 0
  let forged = 0

  async function send(event: unknown, secret: string): Promise<number> {
    const { body, signature } = signed(event, secret)
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
    const url = `${own.pick(urls())}/billing/stripe`
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) }).catch(
      () => undefined,
    )
    await answer?.arrayBuffer().catch(() => undefined)
    return answer?.status ?? 0
  }

  async function postOne(event: StripeEvent): Promise<void> {
    if (own.chance(FORGED)) {
      forged++
      const status = await send({ ...event, id: `evt_forged${forged}` }, 'whsec_of_somebody_else')
      if (status >= 200 && status < 300) throw new Error('a forged event was taken')
    }
    for (;;) {
      posted++
      const status = await send(event, webhookSecret)
      if (status === 200) return
      if (status === 400) throw new Error(`the event ${event.id} was refused`)
      await delay(200)
    }
  }

  async function post(events: readonly StripeEvent[]): Promise<void> {
    const left = [...events, ...events]
      .map((event) => ({ event, order: own.next() }))
      .toSorted((a, b) => a.order - b.order)
    const next = async () => {
      for (let it = left.pop(); it; it = left.pop()) await postOne(it.event)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next))
  }

  const fresh = () => {
    const events = stripe.events.list.slice(told)
    told += events.length
    return events
  }

  return {
    counts: () => ({ posted, forged }),

    /** What was said since the last time, but for some that are kept until the end. */
    async postNew(): Promise<void> {
      const events = fresh()
      const delayed = new Set(events.filter(() => chance.chance(DELAYED)))
      late.push(...delayed)
      await post(events.filter((event) => !delayed.has(event)))
    },

    /** All that is left. */
    postRest: () => post([...late.splice(0), ...fresh()]),
  }
}
