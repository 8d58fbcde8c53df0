/**
 * `npm run bench`: Easel against a bare rival on the same libraries (rival.ts), in alternating rounds of one run. Each
 * round is a pair; the figures are medians over the rounds. `--json FILE` also writes them there, `--case NAME` measures
 * only the cases whose name contains it.
 */
import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { Redis } from 'ioredis'
import { Figures } from './figures.js'
import { type BenchUser, givenGenerations, givenUsers } from './givens.js'
import { benchGpuCases } from './gpu-cases.js'
import { type Load, type LoadRequest, startLoadGenerator } from './load.js'
import { cpuOf, residentMiB, type Started, startBenchStack } from './stack.js'

const { values: flags } = parseArgs({ options: { json: { type: 'string' }, case: { type: 'string', default: '' } } })

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1.5)
const CONNECTIONS = 16
const USERS = 10_000
/** How many have an active generation; the others may submit. */
const ACTIVE = 1000
const RIVAL = 'node_modules/.cache/easel-bench/rival.mjs'
const SUBMISSION = JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: 10 })

const wanted = (name: string) => name.includes(flags.case)
const figures = new Figures()
const stack = await startBenchStack()
const generator = startLoadGenerator()
try {
  await build({
    entryPoints: ['test/bench/rival.ts'],
    outfile: RIVAL,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
  const rival = await stack.launch([RIVAL])
  const users = await givenUsers(stack.db, USERS)
  console.log(
    `${availableParallelism()} cores, ${USERS} users, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s`,
  )
  await benchRequests(rival, users)
  await benchGpuCases({ stack, rival, rivalScript: RIVAL, generator, users: users.slice(2 * ACTIVE), figures, wanted })
  await benchStarts()
  if (wanted('memory'))
    figures.add('server memory, idle, MiB', await residentMiB(stack.server.pid), await residentMiB(rival.pid))
} finally {
  generator.stop()
  await stack.close()
}
console.log(figures.table())
if (flags.json) {
  const machine = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model,
    memoryBytes: totalmem(),
    node: process.version,
  }
  await writeFile(flags.json, `${JSON.stringify({ at: new Date(), machine, figures: figures.all }, null, 2)}\n`)
}

async function benchRequests(rival: Started, users: readonly BenchUser[]): Promise<void> {
  const [withQueued, withProcessing] = [users.slice(0, ACTIVE), users.slice(ACTIVE, 2 * ACTIVE)]
  const free = users.slice(2 * ACTIVE)
  const queued = await givenGenerations(stack.db, withQueued, 'queued')
  const processing = await givenGenerations(stack.db, withProcessing, 'processing')
  const polls = (of: readonly BenchUser[], ids: readonly string[]) =>
    of.map((user, i) => get(user, `/api/v1/generate/${ids[i]}`))
  const finished = polls(
    users,
    users.map((user) => user.finished),
  )

  const against = (name: string, requests: readonly LoadRequest[], status = 200) =>
    rounds(name, rival, { ours: requests, theirs: requests, status })
  await against('poll, finished', finished)
  await against('poll, processing', polls(withProcessing, processing))
  await against('poll, queued', polls(withQueued, queued))
  const known = finished.slice(0, 500)
  await rounds('poll, not modified (304)', rival, {
    ours: await withTags(stack.url, known),
    theirs: await withTags(rival.url, known),
    status: 304,
  })
  await against(
    'account',
    users.map((user) => get(user, '/api/v1/account')),
  )
  await against(
    'models',
    users.map((user) => get(user, '/api/v1/models')),
  )

  const redis = new Redis(stack.redisUrl)
  for (const [i, { id }] of withQueued.entries()) await redis.set(`rival:lock:${id}`, queued[i] as string)
  redis.disconnect()
  await against('submit, refused (429)', withQueued.map(submission), 429)

  let round = 0
  await rounds('submit', rival, {
    // Each user may have one active generation. Which of them submit first changes, so that all keys are used.
    ours: () => rotated(free.map(submission), round++ * 977),
    theirs: () => rotated(free.map(submission), round * 977),
    status: 201,
    afterOurs: () => cancelAll(free),
    afterTheirs: async () => {
      await fetch(`${rival.url}/free`, { method: 'POST' })
    },
  })
}

type Requests = readonly LoadRequest[] | (() => readonly LoadRequest[])

interface Pair {
  readonly ours: Requests
  readonly theirs: Requests
  readonly status: number
  readonly afterOurs?: () => Promise<void>
  readonly afterTheirs?: () => Promise<void>
}

/** Easel, rival, Easel, rival: what else the machine does meets both alike. The first round only warms up. */
async function rounds(name: string, rival: Started, { ours, theirs, status, ...after }: Pair): Promise<void> {
  if (!wanted(name)) return
  const measure = async ({ url, pid }: Started, requests: Requests) => {
    const cpu = async () => (await cpuOf(pid)) + (await stack.servicesCpu())
    const before = await cpu()
    const list = typeof requests === 'function' ? requests() : requests
    const once = typeof requests === 'function'
    const options = { url, requests: list, connections: CONNECTIONS, seconds: SECONDS, status, once }
    const load = await generator.load(options)
    return { load, cpuMs: (((await cpu()) - before) * 1000) / load.answered }
  }
  const measured: { readonly load: Load; readonly cpuMs: number }[][] = []
  for (let n = 0; n <= ROUNDS; n++) {
    const first = await measure(stack.server, ours)
    await after.afterOurs?.()
    const second = await measure(rival, theirs)
    await after.afterTheirs?.()
    if (n > 0) measured.push([first, second])
  }
  const both = (of: (it: { load: Load; cpuMs: number }) => number) =>
    [0, 1].map((side) => measured.map((pair) => of(pair[side] as { load: Load; cpuMs: number }))) as [
      number[],
      number[],
    ]
  figures.addRounds(`${name}, requests/s`, ...both(({ load }) => load.answered / load.seconds))
  figures.addRounds(`${name}, p50 ms`, ...both(({ load }) => load.p50))
  figures.addRounds(`${name}, p99 ms`, ...both(({ load }) => load.p99))
  figures.addRounds(`${name}, CPU ms per request`, ...both(({ cpuMs }) => cpuMs))
}

/** From the start of a process to its first "ready". */
async function benchStarts(): Promise<void> {
  if (!wanted('cold start')) return
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let n = 0; n < ROUNDS; n++) {
    for (const [script, times] of [
      ['dist/server.js', ours],
      [RIVAL, theirs],
    ] as const) {
      const started = await stack.launch([script])
      times.push(started.readyAfterMs)
      await started.stop()
    }
  }
  figures.addRounds('cold start to ready, ms', ours, theirs)
}

/** Ends whatever the users have waiting, as they would. */
async function cancelAll(users: readonly BenchUser[]): Promise<void> {
  const keys = new Map(users.map(({ id, key }) => [id, key]))
  const { rows } = await stack.db.pool.query<{ id: string; user_id: string }>(
    `SELECT id, user_id FROM generations WHERE status = 'queued'`,
  )
  const requests = rows.flatMap(({ id, user_id }): LoadRequest[] => {
    const key = keys.get(user_id)
    return key
      ? [{ method: 'POST', path: `/api/v1/generate/${id}/cancel`, headers: { authorization: `Bearer ${key}` } }]
      : []
  })
  const { url } = stack
  await generator.load({ url, requests, connections: CONNECTIONS, seconds: 60, status: 200, once: true })
}

function get({ key }: BenchUser, path: string): LoadRequest {
  return { method: 'GET', path, headers: { authorization: `Bearer ${key}` } }
}

function submission({ key }: BenchUser): LoadRequest {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return { method: 'POST', path: '/api/v1/generate', headers, body: SUBMISSION }
}

async function withTags(url: string, requests: readonly LoadRequest[]): Promise<LoadRequest[]> {
  const tagged: LoadRequest[] = []
  for (const request of requests) {
    const { headers } = await fetch(url + request.path, { headers: request.headers })
    tagged.push({ ...request, headers: { ...request.headers, 'if-none-match': headers.get('etag') ?? '' } })
  }
  return tagged
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
