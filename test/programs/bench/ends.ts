import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { standInWorker } from '../../support/stand-in-worker.js'
import type { Bench } from './bench.js'
import { headersOf, now, submit } from './client.js'
import { median } from './figures.js'

const ENDS = 40
const WAYS = [
  { name: 'event stream', path: '/events', end: 'event: end' },
  { name: 'long poll', path: '?wait=30', end: '"status":"failed"' },
] as const

/** How long after the row has ended those who wait for it are told. There is nothing like it in the rival. */
export async function benchEnds({ stack, figures, wanted, nextUser }: Bench): Promise<void> {
  const worker = standInWorker(stack.db)
  const ways = WAYS.filter(({ name }) => wanted(name)).map((way) => ({ ...way, waits: [] as number[] }))
  for (let n = 0; n < ENDS; n++)
    for (const { path, end, waits } of ways) {
      const user = nextUser()
      const { id } = (await submit(stack, user)).said
      const claimed = await worker.claim()
      const url = `${stack.url}/api/v1/generate/${id}`
      const told = whenTold(url + path, headersOf(user), end)
      // Once this one is answered, the other one has arrived.
      await (await request(url, { headers: headersOf(user) })).body.dump()
      await delay(20)
      await worker.fail(claimed, 'over')
      const at = now()
      waits.push((await told) - at)
    }
  for (const { name, waits } of ways) figures.add(`${name} tells the end, p50 ms after the row`, median(waits))
}

async function whenTold(url: string, headers: Readonly<Record<string, string>>, end: string): Promise<number> {
  const { body } = await request(url, { headers })
  let text = ''
  // Leaving the loop closes the stream.
  for await (const chunk of body) {
    text += chunk
    if (text.includes(end)) return now()
  }
  throw new Error(`${url} never said ${end}`)
}
