/**
 * The rival: what the same libraries do with nothing of Easel's on top. One process is its server, another (`worker`) its
 * worker. It authenticates by a key's hash, limits by a sliding window, locks, charges and enqueues, and answers on Easel's
 * paths; it checks nothing, repairs nothing and keeps no promise after a crash.
 */
import { createHash, randomUUID } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import rateLimit from '@fastify/rate-limit'
import fastifyStatic from '@fastify/static'
import { Queue, Worker } from 'bullmq'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { Redis } from 'ioredis'
import pg from 'pg'
import sharp from 'sharp'
import { z } from 'zod'

const { DATABASE_URL, REDIS_URL = '', PORT, IMAGES = '', GPU_URL = '' } = process.env
const QUEUE = 'rival'
const PREFIX = 'rival'
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20 })
const redis = new Redis(REDIS_URL, { enableAutoPipelining: true })
const forBullMq = { connection: new Redis(REDIS_URL, { maxRetriesPerRequest: null }), prefix: PREFIX }

const prepared = async (name: string, text: string, values: unknown[] = []) =>
  (await pool.query({ name, text, values })).rows

if (process.argv[2] === 'worker') {
  const render = async (id: string) => {
    const [row] = await prepared(
      'run',
      `UPDATE rival_generations SET status = 'processing' WHERE id = $1 RETURNING *`,
      [id],
    )
    const answer = await fetch(`${GPU_URL}/sdapi/v1/txt2img`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ prompt: row.prompt, negative_prompt: '', width: row.width, height: row.height, steps: 20, cfg_scale: 7 },
        ...{ sampler_name: 'Euler a', scheduler: 'automatic', seed: 1, batch_size: 1 },
      }),
    })
    const { images } = (await answer.json()) as { images: string[] }
    const png = await sharp(Buffer.from(images[0] as string, 'base64'))
      .png({ compressionLevel: 6 })
      .toBuffer()
    const slug = randomUUID()
    const file = await open(join(IMAGES, `.${slug}`), 'w')
    await file.writeFile(png)
    await file.sync()
    await file.close()
    await rename(join(IMAGES, `.${slug}`), join(IMAGES, `${slug}.png`))
    await prepared('end', `UPDATE rival_generations SET status = 'succeeded', slug = $2 WHERE id = $1`, [id, slug])
    await redis.del(`${PREFIX}:lock:${row.user_id}`)
    await redis.publish(`${PREFIX}:ended`, id)
  }
  new Worker<{ id: string }>(QUEUE, ({ data }) => render(data.id), forBullMq)
  await fastify()
    .get('/ready', async () => ({}))
    .listen({ host: '127.0.0.1', port: Number(PORT) })
} else {
  await startServer()
}

async function startServer(): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS rival_users (id uuid PRIMARY KEY, username text NOT NULL, credits bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS rival_keys (hash bytea PRIMARY KEY, user_id uuid NOT NULL);
    CREATE TABLE IF NOT EXISTS rival_generations (id text PRIMARY KEY, user_id uuid NOT NULL, status text NOT NULL,
      prompt text NOT NULL, width integer NOT NULL, height integer NOT NULL, slug text, created_at timestamptz DEFAULT now());
    CREATE TABLE IF NOT EXISTS rival_ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id uuid NOT NULL,
      delta bigint NOT NULL, generation_id text NOT NULL);`)
  const queue = new Queue(QUEUE, forBullMq)
  const waiting = new Map<string, () => void>()
  const subscriber = new Redis(REDIS_URL)
  await subscriber.subscribe(`${PREFIX}:ended`)
  subscriber.on('message', (_, id) => waiting.get(id)?.())
  redis.defineCommand('slide', {
    numberOfKeys: 1,
    lua: `
      local t = redis.call('TIME')
      local now = t[1] * 1000 + math.floor(t[2] / 1000)
      redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
      local n = redis.call('ZCARD', KEYS[1])
      if n < tonumber(ARGV[2]) then
        redis.call('ZADD', KEYS[1], now, t[1] .. '-' .. t[2] .. '-' .. n)
        redis.call('PEXPIRE', KEYS[1], ARGV[1])
      end
      return n + 1`,
  })
  const slide = (key: string, windowMs: number, max: number): Promise<number> =>
    (redis as unknown as { slide(...args: unknown[]): Promise<number> }).slide(key, windowMs, max)
  class Store {
    incr(
      key: string,
      done: (error: Error | null, it?: { current: number; ttl: number }) => void,
      ms: number,
      max: number,
    ) {
      slide(key, ms, max).then((current) => done(null, { current, ttl: ms }), done)
    }
    child(): this {
      return this
    }
  }

  const app = fastify({ trustProxy: '127.0.0.1' }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.get('/ready', async () => ({}))
  await app.register(fastifyStatic, { root: IMAGES, prefix: '/cdn/' })
  await app.register(async (scope) => {
    const users = new WeakMap<FastifyRequest, { id: string; username: string; credits: string }>()
    const userOf = (request: FastifyRequest) => users.get(request) as { id: string; username: string; credits: string }
    scope.addHook('onRequest', async (request, reply) => {
      const key = request.headers.authorization?.slice('Bearer '.length) ?? ''
      const [user] = await prepared(
        'user',
        'SELECT u.* FROM rival_keys k JOIN rival_users u ON u.id = k.user_id WHERE k.hash = $1',
        [createHash('sha256').update(key).digest()],
      )
      if (!user) return reply.code(401).send({ error: 'no such key' })
      users.set(request, user)
    })
    await scope.register(rateLimit, {
      ...{ global: true, hook: 'onRequest', max: 1_000_000, timeWindow: 60_000, store: Store },
      keyGenerator: (request) => `${PREFIX}:rate:${userOf(request).id}`,
    })
    const typed = scope.withTypeProvider<ZodTypeProvider>()
    typed.get('/api/v1/account', async (request) => {
      const { username, credits } = userOf(request)
      return { username, credits: Number(credits) }
    })
    typed.get('/api/v1/models', async () => ({ models: await prepared('models', 'SELECT * FROM model_versions') }))
    typed.get('/api/v1/generate/:id', { schema: { params: z.object({ id: z.string() }) } }, async (request, reply) => {
      const [row] = await prepared('poll', 'SELECT * FROM rival_generations WHERE id = $1 AND user_id = $2', [
        request.params.id,
        userOf(request).id,
      ])
      if (!row) return reply.code(404).send({ error: 'no such generation' })
      const body = { id: row.id, status: row.status, ...(row.slug && { output: { images: [{ id: row.slug }] } }) }
      const etag = `"${createHash('sha1').update(JSON.stringify(body)).digest('base64url')}"`
      reply.header('etag', etag)
      return request.headers['if-none-match'] === etag ? reply.code(304).send() : body
    })

    const submit = async (request: FastifyRequest, reply: FastifyReply, body: z.output<typeof generation>) => {
      const user = userOf(request)
      const id = `gen_${randomUUID()}`
      if (!(await redis.set(`${PREFIX}:lock:${user.id}`, id, 'PX', 3_600_000, 'NX'))) {
        await reply.code(429).send({ error: 'One generation at a time.' })
        return undefined
      }
      await prepared(
        'submit',
        `WITH paid AS (UPDATE rival_users SET credits = credits - 1 WHERE id = $2 AND credits > 0 RETURNING id),
              stored AS (INSERT INTO rival_generations (id, user_id, status, prompt, width, height)
                         SELECT $1, id, 'queued', $3, $4, $5 FROM paid)
         INSERT INTO rival_ledger (user_id, delta, generation_id) SELECT id, -1, $1 FROM paid`,
        [id, user.id, body.prompt, body.width, body.height],
      )
      const ended = new Promise<void>((resolve) => waiting.set(id, resolve)).then(() => waiting.delete(id))
      await queue.add('run', { id }, { jobId: id, removeOnComplete: true, removeOnFail: true })
      return { id, ended }
    }
    const generation = z.object({
      prompt: z.string().min(1).max(2000),
      model_version_id: z.int().optional(),
      width: z.int().default(832),
      height: z.int().default(1216),
      steps: z.int().default(30),
    })
    typed.post('/api/v1/generate', { schema: { body: generation } }, async (request, reply) => {
      const submitted = await submit(request, reply, request.body)
      return submitted && reply.code(201).send({ id: submitted.id, status: 'queued' })
    })
    typed.post('/v1/images/generate', { schema: { body: generation } }, async (request, reply) => {
      const submitted = await submit(request, reply, request.body)
      if (!submitted) return reply
      await submitted.ended
      const [row] = await prepared('poll', 'SELECT * FROM rival_generations WHERE id = $1 AND user_id = $2', [
        submitted.id,
        userOf(request).id,
      ])
      return { success: true, data: { image_id: row.slug } }
    })
  })
  // For the benchmark: everything that waits is over.
  app.post('/free', async () => {
    await pool.query(`UPDATE rival_generations SET status = 'failed' WHERE status = 'queued'`)
    await queue.obliterate({ force: true })
    const locks = await redis.keys(`${PREFIX}:lock:*`)
    if (locks.length > 0) await redis.del(locks)
    return {}
  })
  await app.listen({ host: '127.0.0.1', port: Number(PORT) })
}
