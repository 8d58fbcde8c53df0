/** Subscribers who submit, poll and fetch their images all the time, through a balancer. */
import { setTimeout as pause } from 'node:timers/promises'
import { PROMPT } from '../../support/client.js'
import { until } from '../../support/until.js'
import type { BalancedClient, Exchange } from './balanced-client.js'

const SMALL = { ...PROMPT, width: 256, height: 256 }
const POLL_MS = 100
/** Until they want the next one: more of them would only keep the processors busy. */
const LOOK_MS = 800

interface Subscriber {
  readonly key: string
}

/** What subscribers do until they are told to stop; each then follows its last generation to the end. */
export class RollingLoad {
  stopping = false
  delivered = 0
  readonly #client: BalancedClient

  constructor(client: BalancedClient) {
    this.#client = client
  }

  async submitAndPoll({ key }: Subscriber): Promise<void> {
    for (let n = 1; !this.stopping; n++) {
      const first = await this.#submit(key)
      // Most likely refused, since the first is still active.
      const second = n % 4 === 0 ? await this.#submit(key) : undefined
      for (const submitted of [first, second]) if (submitted?.got === 201) await this.#follow(key, submitted.body.id)
    }
  }

  async createImage({ key }: Subscriber): Promise<void> {
    const body = { prompt: 'a lighthouse at dusk', width: 256, height: 256, steps: 20 }
    while (!this.stopping) {
      const created = await this.#client.send({ method: 'POST', path: '/v1/images/generate', key, body })
      if (created.got === 200) await this.#fetch(created.body.data.url)
      else await pause(POLL_MS)
    }
  }

  #submit(key: string): Promise<Exchange> {
    return this.#client.send({ method: 'POST', path: '/api/v1/generate', key, body: SMALL })
  }

  async #follow(key: string, id: string): Promise<void> {
    const poll = async () => {
      const { got, body } = await this.#client.send({ method: 'GET', path: `/api/v1/generate/${id}`, key })
      if (got === 200 && body.status === 'succeeded') return body.output.images[0].url as string
      if (got === 200 && body.status === 'failed') return 'none'
      await pause(POLL_MS)
      return undefined
    }
    const url = await until(poll, `the end of ${id}`, 120_000)
    if (url !== 'none') await this.#fetch(url)
  }

  async #fetch(url: string): Promise<void> {
    const { got } = await this.#client.send({ method: 'GET', path: new URL(url).pathname })
    if (got === 200) this.delivered++
    await pause(LOOK_MS)
  }
}

/** Each answer that no subscriber should get, as a line. */
export const unexpected = (exchanges: BalancedClient['exchanges']): string[] =>
  exchanges.filter(isUnexpected).map(({ method, path, server, at, ms, got, headers }) => {
    const times = `sent at ${Math.round(at)} ms, after ${Math.round(ms)} ms`
    return `${method} ${path} (${server}): ${got}, ${times}, ${JSON.stringify(headers)}`
  })

/** 429: one generation at a time. */
const isUnexpected = ({ method, path, got }: Omit<Exchange, 'body'>): boolean =>
  method === 'POST' && path === '/api/v1/generate' ? got !== 201 && got !== 429 : got !== 200
