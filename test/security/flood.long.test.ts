import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '../../src/core/accounts/api-key.js'
import type { Database } from '../../src/db/client.js'
import { call } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { seedOf } from '../support/effort.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { type FloodAnswer, startFlood } from '../support/pipelining-client.js'
import { seeded } from '../support/seeded.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

// As if behind a proxy, so that each client has an address of its own.
let server: ServerProcess
let db: Database
let unavailable = 0
beforeAll(async () => {
  // With little room garbage is soon collected, and what is kept for good ends the process.
  const env = { TRUST_PROXY: '127.0.0.1', NODE_OPTIONS: '--max-old-space-size=128' }
  // However long it lasts, who is over the limit stays so.
  server = await startServerProcess({ ...env, RATE_LIMIT_WINDOW_SECONDS: '3600' })
  db = patientDatabase(server.databaseUrl, 4)
})
afterAll(async () => {
  await db?.pool.end()
  await server?.stop()
})

const CONNECTIONS = 150
/** As many as one connection may have: six hundred requests are under way at any time, more than there are slots. */
const DEPTH = 4
const ADDRESS = '192.0.2.1'
/** Answers after which a flood ends; on a slow machine it lasts longer. */
const ENOUGH = 600
const ASKING = 15
const SEED = seedOf(52)
const chance = seeded(SEED)

const request = (address: string, key: string) =>
  `GET /api/v1/account HTTP/1.1\r\nHost: easel.test\r\nX-Forwarded-For: ${address}\r\nAuthorization: Bearer ${key}\r\n\r\n`
const givenUsers = (count: number) => Promise.all(Array.from({ length: count }, () => givenUser(db)))

/**
 * Subscribers who know nothing of the flood, each from an address of their own and far from their limit. Each asks until
 * they are served, and some times more while the flood goes on.
 */
async function ask(users: readonly GivenUser[], going: () => boolean): Promise<FloodAnswer[]> {
  const asked: FloodAnswer[] = []
  await Promise.all(
    users.map(({ key }, n) => {
      let served = 0
      const isServed = async () => {
        const headers = { 'x-forwarded-for': `198.51.100.${n}` }
        const answer = await call(server.url, 'GET', '/api/v1/account', { key, headers })
        asked.push({ status: answer.status, retryAfter: answer.headers.get('retry-after') ?? undefined })
        if (answer.status === 200) served++
        return served === 8 || (served > 0 && !going())
      }
      return until(isServed, 'the service of a subscriber', 180_000)
    }),
  )
  return asked
}

const share = (answers: readonly { status: number }[], ...statuses: number[]) =>
  answers.filter(({ status }) => statuses.includes(status)).length / answers.length

function expectOrderly(answers: readonly FloodAnswer[], ...served: number[]): void {
  expect(
    [...new Set(answers.map(({ status }) => status))].filter((status) => ![...served, 429, 503].includes(status)),
  ).toEqual([])
  for (const { status, retryAfter } of answers)
    if (status === 429 || status === 503) expect(retryAfter).toMatch(/^[1-9]\d{0,3}$/)
}

interface FloodOf {
  readonly name: string
  readonly request: () => string
  /** What may come back beside refusals. */
  readonly served: readonly number[]
  readonly connections?: number
  readonly depth?: number
  readonly enough?: number
}

/** @returns what the others got meanwhile, and what the flood did */
async function flood({ name, request, served, connections = CONNECTIONS, depth = DEPTH, enough = ENOUGH }: FloodOf) {
  const others = await givenUsers(ASKING)
  const running = startFlood(server.url, { connections, depth, request })
  const { answers } = running
  const asked = await ask(others, () => answers.length < enough)
  await until(() => answers.length >= enough, 'enough answers', 180_000)
  await running.end()
  if (process.env.SHOW_FIGURES) {
    const part = (of: readonly FloodAnswer[], ...statuses: number[]) => `${(100 * share(of, ...statuses)).toFixed(1)} %`
    console.log(
      `${name}: 429 ${part(answers, 429)}, 503 ${part(answers, 503)}; others ${asked.length}, ` +
        `200 ${part(asked, 200)}, RSS ${await server.residentMiB()}`,
    )
  }
  // None is a 500, and each refusal says when to come back.
  expectOrderly(answers, ...served)
  expectOrderly(asked, 200)
  unavailable += answers.filter(({ status }) => status === 503).length
  return { answers, asked, unanswered: running.unanswered() }
}

describe('a flood far beyond what the server can do', () => {
  it(`is refused in order while every other client is served, and memory stays flat (seed ${SEED})`, async () => {
    const [greedy, ...crowd] = await givenUsers(41)
    // A process that has just started is slow: its first connections and its first requests are not what is meant.
    for (let n = 0; n < 10; n++)
      await Promise.all(crowd.map(({ key }) => call(server.url, 'GET', '/api/v1/account', { key })))
    const greed = {
      name: 'one user over their limit',
      request: () => request(ADDRESS, greedy?.key ?? ''),
      served: [200],
    }
    const guessing = { name: 'wrong keys', request: () => request(ADDRESS, newApiKey('easel')), served: [401] }
    const anywhere = () => `203.0.113.${chance.below(250)}`
    const crowding = { name: 'many users', request: () => request(anywhere(), chance.pick(crowd).key), served: [200] }
    const floods = async () => {
      for (const one of [greed, guessing, crowding]) {
        const { answers, asked, unanswered } = await flood(one)
        expect(unanswered).toBe(0)
        expect(share(answers, 429, 503)).toBeGreaterThan(0.5)
        expect(share(asked, 200), one.name).toBeGreaterThan(share(answers, ...one.served))
      }
      // Nine thousand at once: each connection is closed when it has gone too far, or amid its next request.
      const pipelining = { name: 'pipelines', served: [401, 408], connections: 60, depth: 150, enough: 60 }
      const { asked, answers } = await flood({ ...guessing, ...pipelining })
      expect(share(asked, 200)).toBeGreaterThan(share(answers, ...pipelining.served))
    }
    await floods()
    const first = await server.residentMiB()
    await floods()
    const second = await server.residentMiB()
    if (first !== undefined && second !== undefined) expect(second).toBeLessThan(1.5 * first)

    // It is as it was: nobody waits for slots that were lost.
    const [late] = await givenUsers(1)
    expect((await ask([late as GivenUser], () => false)).map(({ status }) => status)).toEqual([200])
    const log = server.readLog()
    expect(log).not.toMatch(/"level":[56]0(?!.*no mails can be sent through SMTP_URL)/)
    // Those that were turned away are told of together, not each in a line of its own.
    expect(log).toMatch(/"requests":\d+,"msg":"more requests than can be served, some are turned away"/)
    expect(log.match(/turned away|"status":503/g)?.length).toBeLessThan(unavailable / 2)
  })
})
