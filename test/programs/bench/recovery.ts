/** How soon a long queue is back after Redis was emptied, and what polls and submits take meanwhile. */
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { request } from 'undici'
import { PRESENT, wipeMarkKey } from '../../../src/redis/wipe-mark.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { until } from '../../support/until.js'
import { headersOf, submit } from './client.js'
import { type Figures, percentile } from './figures.js'
import { givenAccounts, givenWaiting, openFiller } from './fill.js'
import { WAITING } from './growth.js'
import { type BenchStack, startBenchStack } from './stack.js'

const SECONDS = 5
const SUBMIT_EVERY_MS = 50
const POLL_EVERY_MS = 20

/** Over a stack of its own. */
export async function benchRecovery(figures: Figures): Promise<void> {
  const waiting = Math.max(...WAITING)
  const stack = await startBenchStack()
  const redis = new Redis(stack.redisUrl)
  try {
    const filler = await openFiller(stack.databaseUrl)
    await givenAccounts(filler, waiting)
    await givenWaiting(filler, waiting)
    await filler.query('ANALYZE')
    await filler.end()
    const users = await givenUsers(stack, (60_000 + 3 * SECONDS * 1000) / SUBMIT_EVERY_MS)
    await measure(stack, users, delay(SECONDS * 1000)) // warms everything up
    const idle = await measure(stack, users, delay(SECONDS * 1000))
    await redis.flushall()
    const at = performance.now()
    // The reconciler says so last.
    const back = until(async () => (await redis.get(wipeMarkKey('easel'))) === PRESENT, 'the wipe mark', 90_000)
    const seconds = back.then(() => (performance.now() - at) / 1000)
    const busy = await measure(stack, users, back)
    const name = `recovery of ${waiting.toLocaleString('en')} waiting`
    figures.add(`${name}, s until Redis has all locks again`, await seconds)
    for (const kind of ['polls', 'submits'] as const)
      for (const share of [0.5, 0.99]) {
        figures.add(`${name}, ${kind} before, p${share * 100} ms`, percentile(idle[kind], share))
        figures.add(`${name}, ${kind} meanwhile, p${share * 100} ms`, percentile(busy[kind], share))
      }
  } finally {
    redis.disconnect()
    await stack.close()
  }
}

async function givenUsers({ db }: BenchStack, count: number): Promise<GivenUser[]> {
  const users: GivenUser[] = []
  while (users.length < count) users.push(...(await Promise.all(Array.from({ length: 4 }, () => givenUser(db)))))
  return users
}

/** What polls and submits take until then, in milliseconds; they come at a steady pace. */
async function measure(stack: BenchStack, users: GivenUser[], end: Promise<unknown>) {
  const times = { polls: [] as number[], submits: [] as number[] }
  const underWay: Promise<void>[] = []
  const every = (ms: number, to: number[], work: () => Promise<unknown>) =>
    setInterval(() => {
      const at = performance.now()
      const done = work().then(() => void to.push(performance.now() - at))
      // Told at the end: nobody catches what is told before, and the servers would be left running.
      done.catch(() => undefined)
      underWay.push(done)
    }, ms)
  const nextUser = () => {
    const user = users.pop()
    if (!user) throw new Error('the recovery took too long: no user is left who could submit')
    return user
  }
  const polling = nextUser()
  const url = `${stack.url}/api/v1/generate/${(await submit(stack, polling)).said.id}`
  const timers = [
    every(POLL_EVERY_MS, times.polls, async () => {
      const { body, statusCode } = await request(url, { headers: headersOf(polling) })
      await body.dump()
      if (statusCode !== 200) throw new Error(`a poll was answered ${statusCode}`)
    }),
    every(SUBMIT_EVERY_MS, times.submits, async () => submit(stack, nextUser())),
  ]
  await end.finally(() => timers.forEach(clearInterval))
  await Promise.all(underWay)
  return times
}
