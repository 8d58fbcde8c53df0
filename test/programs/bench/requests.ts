import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import sharp from 'sharp'
import { newSlug } from '../../../src/core/generations/generation.js'
import { NAMESPACE } from '../../../src/process/namespace.js'
import { redisActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { type Bench, CONNECTIONS, rounds, SECONDS } from './bench.js'
import { headersOf } from './client.js'
import { type BenchUser, givenGenerations } from './givens.js'
import type { LoadRequest } from './load.js'
import { cpuOf } from './stack.js'

const HOUR_MS = 3_600_000
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
    measure(bench, name, { ours: requests, theirs: requests, status })
  await against('poll, finished', finished)
  await against('poll, processing', polls(withProcessing, processing))
  await against('poll, queued', polls(withQueued, queued))
  const known = finished.slice(0, 500)
  await measure(bench, 'poll, not modified (304)', {
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

  // As a submit leaves them, in both systems.
  const redis = new Redis(stack.redisUrl)
  const held = queued.map((generationId, i) => ({
    accountId: (withQueued[i] as BenchUser).id,
    generationId,
    ttlMs: HOUR_MS,
  }))
  if (!(await redisActiveGenerationLock(redis, NAMESPACE).keep(held))) throw new Error('Redis did not keep the locks.')
  for (const { accountId, generationId } of held) await redis.set(`rival:lock:${accountId}`, generationId)
  redis.disconnect()
  await against('submit, refused (429)', withQueued.map(submission), 429)

  let round = 0
  await measure(bench, 'submit', {
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

async function measure(bench: Bench, name: string, pair: Pair): Promise<void> {
  const { stack, rival, generator, figures } = bench
  const { status } = pair
  if (!bench.wanted(name)) return
  const sides = [
    { server: stack.server, asked: pair.ours, after: pair.afterOurs },
    { server: rival, asked: pair.theirs, after: pair.afterTheirs },
  ] as const
  const measured = await rounds(sides, async ({ server: { url, pid }, asked, after }) => {
    const cpu = async () => (await cpuOf(pid)) + (await stack.servicesCpu())
    const once = typeof asked === 'function'
    const requests = once ? asked() : asked
    const before = await cpu()
    const load = await generator.load({ url, requests, connections: CONNECTIONS, seconds: SECONDS, status, once })
    const cpuMs = (((await cpu()) - before) * 1000) / load.answered
    await after?.()
    return { ...load, perSecond: load.answered / load.seconds, cpuMs }
  })
  const add = (what: string, of: (it: (typeof measured)[0][0]) => number) =>
    figures.addRounds(`${name}, ${what}`, measured[0].map(of), measured[1].map(of))
  add('requests/s', ({ perSecond }) => perSecond)
  add('p50 ms', ({ p50 }) => p50)
  add('p99 ms', ({ p99 }) => p99)
  add('CPU ms per request', ({ cpuMs }) => cpuMs)
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
