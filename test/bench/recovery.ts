/** `npm run bench:recovery`: how soon a long queue is back after Redis was emptied, and what submits cost meanwhile. */
import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import { request } from 'undici'
import { type GivenUser, givenUser } from '../support/givens.js'
import { until } from '../support/until.js'
import { startBenchStack } from './stack.js'

const WAITING = Number(process.env.BENCH_WAITING ?? 100_000)
const SECONDS = 5
const SUBMIT_EVERY_MS = 50

const stack = await startBenchStack()
const { url, db } = stack
const redis = new Redis(stack.redisUrl)
const others: GivenUser[] = []
try {
  await givenWaiting()
  const count = (SECONDS * 1000) / SUBMIT_EVERY_MS + 60_000 / SUBMIT_EVERY_MS
  while (others.length < count) others.push(...(await Promise.all(Array.from({ length: 4 }, () => givenUser(db)))))
  await measure(new Promise((resolve) => setTimeout(resolve, SECONDS * 1000)))
  const idle = await measure(new Promise((resolve) => setTimeout(resolve, SECONDS * 1000)))
  await redis.flushall()
  const at = performance.now()
  const seconds = (since: number) => ((since - at) / 1000).toFixed(1)
  // The reconciler sets it last.
  const back = until(async () => (await redis.exists('easel:sentinel')) === 1, 'the wipe mark', 90_000).then(() =>
    performance.now(),
  )
  const busy = await measure(back)
  const jobs = await redis.llen('{easel}:generations:wait')
  console.log(`${WAITING} generations waiting, Redis emptied`)
  console.log(`all locks back, and ${jobs} jobs, after ${seconds(await back)} s`)
  for (const share of [0.5, 0.95]) {
    const [before, then] = [percentile(idle, share), percentile(busy, share)]
    console.log(
      `submits p${share * 100}: ${before.toFixed(1)} → ${then.toFixed(1)} ms (× ${(then / before).toFixed(2)}), ${busy.length} of them`,
    )
  }
} finally {
  redis.disconnect()
  await stack.close()
}

/** Each a user's own, charged and enqueued. */
async function givenWaiting(): Promise<void> {
  // Without the pool's deadlines.
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  await client.connect()
  const tag = randomBytes(4).toString('hex')
  try {
    for (let from = 0; from < WAITING; from += 1000) {
      await client.query(
        `WITH u AS (INSERT INTO users (username) SELECT $1 || n FROM generate_series($2::integer, $3::integer) n RETURNING id),
              k AS (INSERT INTO api_keys (user_id, kind, hash, hint) SELECT id, 'personal', sha256(id::text::bytea), 'h' FROM u
                    RETURNING id, user_id)
         INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
           negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
         SELECT 'gen_' || substr(replace(id::text, '-', ''), 1, 22), user_id, id, 'personal', false, 10, 'm', 'f', 'p', '',
                832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY['s-' || id], 0, now() + interval '1 hour' FROM k`,
        [tag, from + 1, Math.min(from + 1000, WAITING)],
      )
    }
    await client.query('ANALYZE')
  } finally {
    await client.end()
  }
}

/** What submits take until then, in milliseconds; they come at a steady pace. */
async function measure(end: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const underWay: Promise<void>[] = []
  const submit = async ({ key }: GivenUser) => {
    const at = performance.now()
    const { body, statusCode } = await request(`${url}/api/v1/generate`, {
      method: 'POST',
      body: JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: 10 }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    await body.dump()
    if (statusCode !== 201) throw new Error(`a submit was answered ${statusCode}`)
    times.push(performance.now() - at)
  }
  const timer = setInterval(() => {
    const user = others.pop()
    if (!user) return
    const submitted = submit(user)
    // Told at the end: nobody catches what is told before, and the servers would be left running.
    submitted.catch(() => undefined)
    underWay.push(submitted)
  }, SUBMIT_EVERY_MS)
  await end.finally(() => clearInterval(timer))
  await Promise.all(underWay)
  return times
}

function percentile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0
}
