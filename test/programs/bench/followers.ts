/** `npm run bench:followers`: what 1000 long polls and 1000 event streams, open at once, cost everybody else. */
import { Agent, request } from 'undici'
import { newGenerationId } from '../../../src/core/generations/generation.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { percentile } from './figures.js'
import { residentMiB, startBenchStack } from './stack.js'

const FOLLOWERS = Number(process.env.BENCH_FOLLOWERS ?? 1000)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 6)
/** Others' requests come at a steady pace, whatever the answers take. */
const POLL_EVERY_MS = 20
const SUBMIT_EVERY_MS = 100
const OF_THE_SERVER = `datname = current_database() AND application_name = 'easel'`

const stack = await startBenchStack()
const { url, db } = stack
const followers = await givenUsers(FOLLOWERS)
const others = await givenUsers(Math.ceil((SECONDS * 6 * 1000) / SUBMIT_EVERY_MS))
const [processing, queued] = [await givenGenerations('processing'), await givenGenerations('queued')]
const polled = await givenOne()
let agent = newAgent()
const received = { answers: 0, bytes: 0 }

try {
  await measure() // warms everything up
  const idleBefore = await measure()
  const before = await residentMiB(stack.server.pid)
  const streams = await openAll(async (id, user) => {
    const { body } = await ask(user, `${id}/events`)
    await new Promise<void>((resolve) => {
      body.on('data', (chunk: Buffer) => {
        received.bytes += chunk.length
        resolve()
      })
      body.on('error', () => resolve())
    })
  }, queued)
  const withStreams = await residentMiB(stack.server.pid)
  const polls = await openAll(async (id, user) => {
    void ask(user, `${id}?wait=30`)
      .then(({ body }) => body.dump())
      .then(
        () => received.answers++,
        () => undefined,
      )
    // Once this one is answered, the other one has arrived.
    await (await ask(user, id)).body.dump()
  }, processing)
  const connections = await busyConnections()
  const waiting = await measure()
  const moving = await measure(claimOnceASecond())
  const after = await residentMiB(stack.server.pid)
  const open = await allConnections()
  // Closes every stream and every wait.
  await agent.destroy()
  agent = newAgent()
  // What else the machine does hits each in turn: the better one counts.
  const idleAfter = await measure()
  const idle = percentile(idleAfter.polls, 0.5) < percentile(idleBefore.polls, 0.5) ? idleAfter : idleBefore
  console.log(`${streams} event streams and ${polls} long polls open, ${received.answers} of them answered meanwhile`)
  console.log(
    `memory ${Math.round(before)} MiB before, ${Math.round(after)} MiB after; per stream ${perOne(withStreams - before, streams)} KiB`,
  )
  console.log(`database connections at work while all wait: ${connections} on average, of ${open} open\n`)
  report('all wait, nothing moves / idle', idle, waiting)
  report('all wait, one claim a second moves every place / idle', idle, moving)
} finally {
  await agent.destroy()
  await stack.close()
}

function newAgent(): Agent {
  return new Agent({ connections: null, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
}

function ask({ key }: GivenUser, path: string) {
  const headers = { authorization: `Bearer ${key}` }
  return request(`${url}/api/v1/generate/${path}`, { dispatcher: agent, headers })
}

/** In batches: places are for requests that are worked on. */
async function openAll(open: (id: string, user: GivenUser) => Promise<void>, ids: readonly string[]): Promise<number> {
  for (let from = 0; from < ids.length; from += 50) {
    await Promise.all(ids.slice(from, from + 50).map((id, i) => open(id, followers[from + i] as GivenUser)))
  }
  return ids.length
}

async function givenUsers(count: number): Promise<GivenUser[]> {
  const users: GivenUser[] = []
  while (users.length < count) users.push(...(await Promise.all(Array.from({ length: 4 }, () => givenUser(db)))))
  await db.pool.query('UPDATE api_keys SET last_used_at = now()')
  return users.slice(0, count)
}

/** One for each follower; metered, so that each may have several. */
async function givenGenerations(
  status: 'queued' | 'processing',
  of: readonly GivenUser[] = followers,
): Promise<string[]> {
  const ids = of.map(newGenerationId)
  await db.pool.query(
    `INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at, lease_until, started_at)
     SELECT g.id, g.user_id, g.key_id, 'personal', true, $4, 1, 'm', 'f', 'p', '', 832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY['s'],
            0, now() + interval '1 hour', now() + interval '1 hour', CASE WHEN $4 = 'processing' THEN now() END
       FROM unnest($1::text[], $2::uuid[], $3::uuid[]) AS g (id, user_id, key_id)`,
    [ids, of.map((user) => user.id), of.map((user) => user.keyId), status],
  )
  return ids
}

async function givenOne(): Promise<{ readonly user: GivenUser; readonly id: string }> {
  const [user] = (await givenUsers(4)) as [GivenUser]
  const [id] = (await givenGenerations('processing', [user])) as [string]
  return { user, id }
}

interface Times {
  readonly polls: number[]
  readonly submits: number[]
}

/** What others' requests take, in milliseconds. */
async function measure(stop: () => void = () => undefined): Promise<Times> {
  const times: Times = { polls: [], submits: [] }
  const underWay: Promise<void>[] = []
  const timed = async (to: number[], work: () => Promise<{ body: { dump(): Promise<void> }; statusCode: number }>) => {
    const at = performance.now()
    const { body, statusCode } = await work()
    await body.dump()
    if (statusCode >= 400) throw new Error(`another one's request was answered ${statusCode}`)
    to.push(performance.now() - at)
  }
  const submit = () =>
    request(`${url}/api/v1/generate`, {
      dispatcher: agent,
      method: 'POST',
      body: JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: 10 }),
      headers: { authorization: `Bearer ${(others.pop() as GivenUser).key}`, 'content-type': 'application/json' },
    })
  const polling = setInterval(() => underWay.push(timed(times.polls, () => ask(polled.user, polled.id))), POLL_EVERY_MS)
  const submitting = setInterval(() => underWay.push(timed(times.submits, submit)), SUBMIT_EVERY_MS)
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000))
  clearInterval(polling)
  clearInterval(submitting)
  stop()
  await Promise.all(underWay)
  return times
}

function claimOnceASecond(): () => void {
  const worker = standInWorker(db)
  const timer = setInterval(() => void worker.claim(), 1000)
  return () => clearInterval(timer)
}

async function busyConnections(): Promise<number> {
  let busy = 0
  for (let n = 0; n < 100; n++) {
    const { rows } = await db.pool.query(
      `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE ${OF_THE_SERVER} AND state <> 'idle' AND pid <> pg_backend_pid()`,
    )
    busy += rows[0].n
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return busy / 100
}

async function allConnections(): Promise<number> {
  const { rows } = await db.pool.query(`SELECT count(*)::integer AS n FROM pg_stat_activity WHERE ${OF_THE_SERVER}`)
  return rows[0].n
}

function perOne(mebibytes: number, count: number): string {
  return ((mebibytes * 1024) / count).toFixed(1)
}

function report(name: string, idle: Times, busy: Times): void {
  console.log(name)
  for (const kind of ['polls', 'submits'] as const) {
    const shown = [0.5, 0.95].map((share) => {
      const [from, to] = [percentile(idle[kind], share), percentile(busy[kind], share)]
      return `p${share * 100} ${from.toFixed(1)} → ${to.toFixed(1)} ms (× ${(to / from).toFixed(2)})`
    })
    console.log(`  ${kind.padEnd(8)} ${shown.join('   ')}`)
  }
  console.log()
}
