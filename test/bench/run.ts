/** `npm run bench`: what Easel costs over the bare libraries, as ratios measured in one run. */
import { newGenerationId } from '../../src/generation/generation.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { startBareStack } from './bare-stack.js'
import { type Load, load } from './load.js'
import { type BenchStack, startBenchStack } from './stack.js'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const CONNECTIONS = 10

const stack = await startBenchStack()
const bare = await startBareStack(stack.databaseUrl)
try {
  console.log(`${CONNECTIONS} connections, ${SECONDS} s each, ${stack.redisUrl ? 'with' : 'without'} Redis\n`)
  await benchPolls(stack)
  await benchQueuePosition(stack)
  await benchSubmits(stack)
} finally {
  await bare.close()
  await stack.close()
}

async function benchPolls({ url, db }: BenchStack): Promise<void> {
  const user = await givenUser(db)
  const id = await givenWaiting(user, 1, 'processing')
  const poll = () => ({ method: 'GET' as const, path: `/api/v1/generate/${id}`, headers: auth(user) })
  const [ours, theirs] = await inTurns(
    () => load(url, poll, { connections: CONNECTIONS, seconds: SECONDS, status: 200 }),
    () =>
      load(bare.url, () => ({ method: 'GET', path: '/rows/7' }), {
        connections: CONNECTIONS,
        seconds: SECONDS,
        status: 200,
      }),
  )
  report('poll, authenticated and rate-limited / bare read', ours, theirs)
}

async function benchQueuePosition({ url, db }: BenchStack): Promise<void> {
  const user = await givenUser(db)
  const lengths = [10, 1000, 100_000]
  let few: Load | undefined
  for (const length of lengths) {
    await db.pool.query(
      `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status = 'queued'`,
    )
    const id = await givenWaiting(user, length, 'queued')
    await db.pool.query('ANALYZE generations')
    const poll = () => ({ method: 'GET' as const, path: `/api/v1/generate/${id}`, headers: auth(user) })
    const measured = await load(url, poll, { connections: CONNECTIONS, seconds: SECONDS, status: 200 })
    few ??= measured
    report(`queued poll, ${length} waiting / ${lengths[0]} waiting`, measured, few)
  }
}

async function benchSubmits({ url, db }: BenchStack): Promise<void> {
  await db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status = 'queued'`,
  )
  // Each user may have one active generation, so each submit is another user's.
  const users: GivenUser[] = []
  while (users.length < SECONDS * 1500)
    users.push(...(await Promise.all(Array.from({ length: 4 }, () => givenUser(db)))))
  // Noting a key's first use is no part of submitting.
  await db.pool.query('UPDATE api_keys SET last_used_at = now()')
  const body = JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: 10 })
  const json = { 'content-type': 'application/json' }
  const submit = (n: number) => ({
    method: 'POST' as const,
    path: '/api/v1/generate',
    body,
    headers: { ...json, ...auth(users[n % users.length] as GivenUser) },
  })
  const [ours, theirs] = await inTurns(
    async () => {
      const measured = await load(url, submit, { connections: CONNECTIONS, seconds: SECONDS / 2, status: 201 })
      await freeEveryone()
      return measured
    },
    () =>
      load(bare.url, () => ({ method: 'POST', path: '/rows', body, headers: json }), {
        connections: CONNECTIONS,
        seconds: SECONDS / 2,
        status: 201,
      }),
  )
  report('submit (moderate, lock, charge, store, enqueue) / bare insert', ours, theirs)

  async function freeEveryone(): Promise<void> {
    await db.pool.query(
      `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status = 'queued'`,
    )
  }
}

/** The given number of generations in the queue, the last of them the user's. */
async function givenWaiting(user: GivenUser, count: number, status: 'queued' | 'processing'): Promise<string> {
  const id = newGenerationId()
  // Metered ones, which one user may have any number of.
  await stack.db.pool.query(
    `INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at, lease_until)
     SELECT CASE WHEN n = $2 THEN $1 ELSE 'gen_' || md5($1 || n) END, $3, $4, 'personal', true, $5, 1, 'm', 'f', 'p',
       '', 832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY['s'], 0, now() + interval '1 hour', now() + interval '1 hour'
       FROM generate_series(1, $2::integer) n`,
    [id, count, user.id, user.keyId, status],
  )
  return id
}

/** A, B, A, B: what else the machine does meanwhile hits both. The better run of each counts. */
async function inTurns(a: () => Promise<Load>, b: () => Promise<Load>): Promise<[Load, Load]> {
  const runs = [await a(), await b(), await a(), await b()] as const
  const best = (x: Load, y: Load) => (x.perSecond > y.perSecond ? x : y)
  return [best(runs[0], runs[2]), best(runs[1], runs[3])]
}

function auth({ key }: GivenUser): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

function report(name: string, ours: Load, theirs: Load): void {
  const shown = ({ perSecond, p50, p99 }: Load) =>
    `${Math.round(perSecond).toString().padStart(6)}/s  p50 ${p50.toFixed(2).padStart(6)} ms  p99 ${p99.toFixed(2).padStart(7)} ms`
  console.log(name)
  console.log(`  ${shown(ours)}\n  ${shown(theirs)}`)
  console.log(
    `  throughput × ${(ours.perSecond / theirs.perSecond).toFixed(2)}   p50 × ${(ours.p50 / theirs.p50).toFixed(2)}\n`,
  )
}
