import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/db/client.js'
import { call, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { effort, seedOf } from '../support/effort.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { seeded } from '../support/seeded.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'

const CLIENTS = 60 * effort
const KILL_EVERY_MS = 400
const AT_ONCE = 5
const SEED = seedOf(51)
const chance = seeded(SEED)

let databaseUrl: string
let db: Database
const servers: (ServerProcess | undefined)[] = []
const start = async (place: number) => {
  servers[place] = await startServerProcess({ DATABASE_URL: databaseUrl, RATE_LIMIT_MAX: '100000' })
}

beforeAll(async () => {
  databaseUrl = (await createTestDatabase()).url
  db = patientDatabase(databaseUrl, 4)
  await Promise.all([start(0), start(1)])
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server?.stop()))
  await db.pool.end()
})

const anyServer = () => until(() => servers.find((server, i) => server && (chance.chance(0.5) || i === 1)), 'a server')

/** The request is sent and the connection cut: with the first byte of the answer, or some time before it. */
async function submitAndLose({ key }: GivenUser, idempotencyKey: string): Promise<void> {
  const { hostname, port } = new URL((await anyServer()).url)
  const body = JSON.stringify(PROMPT)
  const socket = connect(Number(port), hostname)
  const head = `POST /api/v1/generate HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nIdempotency-Key: ${idempotencyKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  socket.write(head + body)
  await new Promise<void>((resolve) => {
    const impatient = chance.chance(0.3) ? setTimeout(() => socket.destroy(), chance.between(0, 20)) : undefined
    socket.once('data', () => socket.destroy())
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(impatient)
      resolve()
    })
  })
}

/** As a client repeats it that has got no answer, until it has one. */
const submitUntilAnswered = ({ key }: GivenUser, idempotencyKey: string) =>
  until(
    async () => {
      const { url } = await anyServer()
      const headers = { 'idempotency-key': idempotencyKey }
      const answer = await call(url, 'POST', '/api/v1/generate', { key, body: PROMPT, headers }).catch(() => undefined)
      // In flight (409) and away (503) are answers that say to come again.
      if (answer && ![201, 409, 503].includes(answer.status)) throw new Error(JSON.stringify(answer.body))
      return answer?.status === 201 && answer
    },
    'the answer to a repeated submit',
    120_000,
  )

/** One of the two servers after the other is killed and started again, until the work is done. */
async function withServersKilled<T>(work: Promise<T>): Promise<{ result: T; kills: number }> {
  let done = false
  let kills = 0
  const killing = (async () => {
    for (let place = 0; !done; place = 1 - place) {
      const killed = servers[place]
      servers[place] = undefined
      await killed?.stop()
      kills++
      await start(place)
      await new Promise((resolve) => setTimeout(resolve, chance.between(0, KILL_EVERY_MS)))
    }
  })()
  const result = await work.finally(() => {
    done = true
  })
  await killing
  return { result, kills }
}

it(`gives each of ${CLIENTS} clients that lose their answers one generation, charged once, while servers are killed (seed ${SEED})`, {
  timeout: 240_000 * effort,
}, async () => {
  const users = await Promise.all(Array.from({ length: CLIENTS }, () => givenUser(db)))
  const client = async (user: GivenUser) => {
    for (let lost = 0; lost < 3; lost++) await submitAndLose(user, 'order-1')
    return { user, answer: await submitUntilAnswered(user, 'order-1') }
  }
  const waiting = [...users]
  const clients = async () => {
    const answered: Awaited<ReturnType<typeof client>>[] = []
    for (let user = waiting.pop(); user; user = waiting.pop()) answered.push(await client(user))
    return answered
  }
  const { result, kills } = await withServersKilled(Promise.all(Array.from({ length: AT_ONCE }, clients)))
  const answered = result.flat()
  expect(answered).toHaveLength(CLIENTS)
  for (const { user, answer } of answered) {
    const generations = await db.pool.query('SELECT id FROM generations WHERE user_id = $1', [user.id])
    expect(generations.rows).toEqual([{ id: answer.body.id }])
    const charges = await db.pool.query(`SELECT delta FROM credit_ledger WHERE user_id = $1 AND kind = 'charge'`, [
      user.id,
    ])
    expect(charges.rows).toEqual([{ delta: -1 }])
  }
  // Without these it would have shown nothing.
  const replays = answered.filter(({ answer }) => answer.headers.get('idempotent-replayed') === 'true')
  expect(replays.length).toBeGreaterThan(CLIENTS / 2)
  expect(kills).toBeGreaterThan(CLIENTS / 100)
})
