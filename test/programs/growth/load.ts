/** Subscribers who submit and poll at a fixed rate, however fast they are answered; and for how long each waited. */
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { headersOf } from '../bench/client.js'

/** Each is asked for so many times a second. `old poll`: of what is in the table of a month. */
export const RATES = { submit: 10, poll: 40, 'old poll': 10 } as const
type Asked = keyof typeof RATES
export const ASKED = Object.keys(RATES) as Asked[]

/** What was asked within some time. */
export interface Stretch {
  /** Milliseconds from the request to the end of its answer, of those that were answered as they should be. */
  readonly waited: Readonly<Record<Asked, number[]>>
  /** Of what was answered otherwise: how often. */
  readonly otherwise: Map<string, number>
}

export interface Subscriber {
  readonly key: string
  /** Its generations that are in the tables of months. */
  readonly old: (random: number) => string
}

const newStretch = (): Stretch => ({ waited: { submit: [], poll: [], 'old poll': [] }, otherwise: new Map() })

export type Load = ReturnType<typeof startLoad>

/** @param subscribers as many that each one's generation has ended when its turn to submit comes again */
export function startLoad(url: string, subscribers: readonly Subscriber[]) {
  /** What is asked between two stretches counts for none. */
  let current = newStretch()
  let isOver = false
  const latest: { readonly id: string; readonly by: Subscriber }[] = []

  async function ask(what: Asked, path: string, { key }: Subscriber, body?: string): Promise<string | undefined> {
    const { waited, otherwise } = current
    const begun = performance.now()
    const note = (answer: string) => otherwise.set(`${what}: ${answer}`, (otherwise.get(`${what}: ${answer}`) ?? 0) + 1)
    try {
      const method = body ? 'POST' : 'GET'
      const answer = await request(`${url}${path}`, { method, headers: headersOf({ key }), ...(body && { body }) })
      const text = await answer.body.text()
      if (answer.statusCode >= 300) return void note(String(answer.statusCode))
      waited[what].push(performance.now() - begun)
      return text
    } catch (error) {
      return void note((error as Error).message)
    }
  }

  const asking: Readonly<Record<Asked, (n: number) => Promise<unknown>>> = {
    async submit(n) {
      const by = subscribers[n % subscribers.length] as Subscriber
      const body = { prompt: 'a lighthouse at dusk', model_version_id: 10, width: 256, height: 256, steps: 1 }
      const answer = await ask('submit', '/api/v1/generate', by, JSON.stringify(body))
      if (answer) latest.unshift({ id: JSON.parse(answer).id, by })
      latest.splice(50)
    },
    async poll(n) {
      const one = latest[n % latest.length]
      if (one) await ask('poll', `/api/v1/generate/${one.id}`, one.by)
    },
    async 'old poll'(n) {
      const by = subscribers[n % subscribers.length] as Subscriber
      await ask('old poll', `/api/v1/generate/${by.old(Math.random())}`, by)
    },
  }

  /** Of what is under way none waits for another. */
  async function atRate(what: Asked): Promise<void> {
    const underWay = new Set<Promise<unknown>>()
    const begun = performance.now()
    for (let n = 0; !isOver; n++) {
      await delay(Math.max(0, begun + (n * 1000) / RATES[what] - performance.now()))
      const one: Promise<unknown> = asking[what](n).finally(() => underWay.delete(one))
      underWay.add(one)
    }
    await Promise.all(underWay)
  }
  const all = Promise.all(ASKED.map(atRate))

  return {
    /** What is asked while `work` lasts. */
    async during(work: () => Promise<unknown>): Promise<Stretch> {
      const stretch = newStretch()
      current = stretch
      try {
        await work()
      } finally {
        current = newStretch()
      }
      return stretch
    },
    async stop() {
      isOver = true
      await all
    },
  }
}
