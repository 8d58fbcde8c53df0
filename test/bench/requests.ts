import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import sharp from 'sharp'
import { newSlug } from '../../src/generation/generation.js'
import { type Bench, CONNECTIONS, ROUNDS, SECONDS } from './bench.js'
import { headersOf } from './client.js'
import { type BenchUser, givenGenerations } from './givens.js'
import type { Load, LoadRequest } from './load.js'
import { cpuOf, type Started } from './stack.js'

const SUBMISSION = JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: 10 })

/** HTTP requests over 16 connections: how many a second, how soon they are answered, and what CPU each takes. */
export async function benchRequests(bench: Bench): Promise<void> {
  const { stack, rival, active, free } = bench
  const half = active.length / 2
  const [withQueued, withProcessing] = [active.slice(0, half), active.slice(half)]
  const users = [...active, ...free]
  const queued = await givenGenerations(stack.db, withQueued, 'queued')
  const processing = await givenGenerations(stack.db, withProcessing, 'processing')
  const polls = (of: readonly BenchUser[], ids: readonly string[]) =>
    of.map((user, i) => get(user, `/api/v1/generate/${ids[i]}`))
  const finished = polls(
    users,
    users.map((user) => user.finished),
  )

  const against = (name: string, requests: readonly LoadRequest[], status = 200) =>
    rounds(bench, name, { ours: requests, theirs: requests, status })
  await against('poll, finished', finished)
  await against('poll, processing', polls(withProcessing, processing))
  await against('poll, queued', polls(withQueued, queued))
  const known = finished.slice(0, 500)
  await rounds(bench, 'poll, not modified (304)', {
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

  const slug = newSlug()
  await writeFile(join(stack.images, `${slug}.png`), await likeAPhotograph())
  const picture: LoadRequest = { method: 'GET', path: `/cdn/${slug}.png`, headers: {} }
  await against('/cdn, 832 × 1216 PNG', Array(CONNECTIONS).fill(picture))

  const redis = new Redis(stack.redisUrl)
  for (const [i, { id }] of withQueued.entries()) await redis.set(`rival:lock:${id}`, queued[i] as string)
  redis.disconnect()
  await against('submit, refused (429)', withQueued.map(submission), 429)

  let round = 0
  await rounds(bench, 'submit', {
    // Each user may have one active generation. Which of them submit first changes, so that all keys are used.
    ours: () => rotated(free.map(submission), round++ * 977),
    theirs: () => rotated(free.map(submission), round * 977),
    status: 201,
    afterOurs: () => cancelAll(bench),
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
async function rounds(bench: Bench, name: string, { ours, theirs, status, ...after }: Pair): Promise<void> {
  const { stack, rival, generator, figures } = bench
  if (!bench.wanted(name)) return
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

/** Ends whatever the users have waiting, as they would. */
async function cancelAll({ stack, generator, free }: Bench): Promise<void> {
  const users = new Map(free.map((user) => [user.id, user]))
  const { rows } = await stack.db.pool.query<{ id: string; user_id: string }>(
    `SELECT id, user_id FROM generations WHERE status = 'queued'`,
  )
  const requests = rows.flatMap(({ id, user_id }): LoadRequest[] => {
    const user = users.get(user_id)
    return user ? [{ method: 'POST', path: `/api/v1/generate/${id}/cancel`, headers: headersOf(user) }] : []
  })
  const { url } = stack
  await generator.load({ url, requests, connections: CONNECTIONS, seconds: 60, status: 200, once: true })
}

function get({ key }: BenchUser, path: string): LoadRequest {
  return { method: 'GET', path, headers: { authorization: `Bearer ${key}` } }
}

function submission(user: BenchUser): LoadRequest {
  return { method: 'POST', path: '/api/v1/generate', headers: headersOf(user), body: SUBMISSION }
}

/** Noise that compresses as badly as a picture: 1.4 MB. */
function likeAPhotograph(): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 2 } as const
  return sharp({ create: { width: 832, height: 1216, channels: 3, background: 'grey', noise } })
    .png({ compressionLevel: 6 })
    .toBuffer()
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
