import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '../../../src/core/accounts/api-key.js'
import { keyNamer, type RedisClient } from '../../../src/redis/cluster.js'
import { type Answer, call, expectCreateError, expectPersonalError, PROMPT } from '../../support/client.js'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.js'
import { type GivenUser, givenKey, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { redisAvailable, singleRedisUrl } from '../../support/services.js'
import { openRedis } from '../../support/test-redis.js'
import { until } from '../../support/until.js'

/** So long that no machine is too slow for it. */
const WINDOW_SECONDS = 600
const env = { RATE_LIMIT_WINDOW_SECONDS: `${WINDOW_SECONDS}` }
const ABSENT = 'gen_00000000000000000000000000'
/** Each endpoint of the Personal Access API, none of which succeeds in making anything. */
const ENDPOINTS: [string, string, unknown?][] = [
  ['GET', '/api/v1/account'],
  ['HEAD', '/api/v1/account'],
  ['GET', '/api/v1/models'],
  ['GET', '/api/v1/generate'],
  ['GET', '/api/v1/generate/'],
  ['GET', `/api/v1/generate/${ABSENT}`],
  ['POST', '/api/v1/generate', {}],
  ['POST', '/api/v1/generate', '{broken'],
]

const account = (url: string, key: string) => call(url, 'GET', '/api/v1/account', { key })
const create = (url: string, key: string) => call(url, 'POST', '/v1/images/generate', { key, body: {} })

async function spend(url: string, key: string, times: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: times }, () => account(url, key)))
  return answers.map(({ status }) => status).sort()
}

function expectLimited(answer: Answer): void {
  expectPersonalError(answer, 429, new RegExp(`rate limit of 10 requests per ${WINDOW_SECONDS} seconds`))
  const retryAfter = answer.headers.get('retry-after') ?? ''
  expect(retryAfter).toMatch(/^[1-9]\d*$/)
  expect(Number(retryAfter)).toBeLessThanOrEqual(WINDOW_SECONDS)
}

for (const [mode, redis] of [
  ['with Redis', true],
  ['on one machine', false],
] as const) {
  describe.skipIf(redis && !redisAvailable)(`the rate limit, ${mode}`, () => {
    const context = useService({ redis, env })
    const user = (): Promise<GivenUser> => givenUser(context.service.db)

    it('lets ten requests through and refuses the eleventh, saying when to come back', async () => {
      const { key } = await user()
      expect(await spend(context.service.url, key, 10)).toEqual(Array(10).fill(200))
      expectLimited(await account(context.service.url, key))
    })

    it('tells on every answer how much is left, under both names that clients look for', async () => {
      const { key } = await user()
      const { url } = context.service
      const answers: Answer[] = []
      for (let n = 0; n < 11; n++) answers.push(await account(url, key))
      expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining')).join()).toBe('9,8,7,6,5,4,3,2,1,0,0')
      for (const { headers } of answers) {
        for (const name of ['limit', 'remaining', 'reset']) {
          expect(headers.get(`ratelimit-${name}`)).toBe(headers.get(`x-ratelimit-${name}`))
        }
        expect(headers.get('ratelimit-policy')).toBe(`10;w=${WINDOW_SECONDS}`)
        expect(headers.get('ratelimit-limit')).toBe('10')
        expect(Number(headers.get('ratelimit-reset'))).toBeLessThanOrEqual(WINDOW_SECONDS)
      }
      expect(answers.at(-1)?.headers.get('x-error-code')).toBe('rate_limited')
    })

    it('is one bucket over all endpoints, whatever they answer', async () => {
      const { key } = await user()
      const { url } = context.service
      for (const [method, path, body] of ENDPOINTS) {
        expect((await call(url, method, path, { key, ...(body !== undefined && { body }) })).status).not.toBe(429)
      }
      expect(await spend(url, key, 3)).toEqual([200, 200, 429])
      for (const [method, path, body] of ENDPOINTS) {
        expect(await call(url, method, path, { key, ...(body !== undefined && { body }) })).toMatchObject({
          status: 429,
        })
      }
    })

    it('is shared by all keys of a user, and by no other user', async () => {
      const [owner, other] = [await user(), await user()]
      const { key } = await givenKey(context.service.db, owner.id)
      await spend(context.service.url, owner.key, 6)
      expect(await spend(context.service.url, key, 5)).toEqual([200, 200, 200, 200, 429])
      expect(await account(context.service.url, other.key)).toMatchObject({ status: 200 })
    })

    it('costs a refused request nothing but the answer: no charge, no generation', async () => {
      const owner = await user()
      await spend(context.service.url, owner.key, 10)
      expectLimited(await call(context.service.url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT }))
      const { rows } = await context.service.db.pool.query('SELECT 1 FROM generations WHERE user_id = $1', [owner.id])
      expect(rows).toEqual([])
    })

    it('is not used up by requests without a valid key, nor by paths that do not exist', async () => {
      const { key } = await user()
      const { url } = context.service
      for (const wrong of [undefined, `${key}0`, newApiKey('easel')]) {
        expect(await call(url, 'GET', '/api/v1/account', wrong === undefined ? {} : { key: wrong })).toMatchObject({
          status: 401,
        })
      }
      for (let n = 0; n < 12; n++)
        expect(await call(url, 'GET', '/api/v1/nothing', { key })).toMatchObject({ status: 404 })
      expect(await spend(url, key, 11)).toEqual([...Array(10).fill(200), 429])
    })

    it('gives Create Image a bucket of its own, with the same number in header and envelope', async () => {
      const { key } = await user()
      const { url } = context.service
      await spend(url, key, 11)
      const answers = await Promise.all(Array.from({ length: 10 }, () => create(url, key)))
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(400))
      const refused = await create(url, key)
      const retryAfter = Number(refused.headers.get('retry-after'))
      expectCreateError(refused, 429, 'rate_limit_exceeded', /rate limit of 10 requests per 600 seconds/, {
        retry_after: retryAfter,
      })
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(Number.isInteger(retryAfter)).toBe(true)
    })

    it('gives each developer key a bucket of its own on Create Image', async () => {
      const owner = await user()
      const { db, url } = context.service
      const [one, two] = [
        await givenKey(db, owner.id, { concurrency: 1 }),
        await givenKey(db, owner.id, { concurrency: 1 }),
      ]
      const statuses = async (key: string, times: number) =>
        (await Promise.all(Array.from({ length: times }, () => create(url, key)))).map(({ status }) => status).sort()
      expect(await statuses(one.key, 11)).toEqual([...Array(10).fill(400), 429])
      expect(await statuses(two.key, 10)).toEqual(Array(10).fill(400))
      expect(await statuses(owner.key, 10)).toEqual(Array(10).fill(400))
    })

    it('does not hold for health checks and images', async () => {
      const { url } = context.service
      for (const path of ['/health', '/ready', `/cdn/${'0'.repeat(22)}.png`, `/image/${'0'.repeat(22)}`]) {
        const answers = await Promise.all(Array.from({ length: 12 }, () => call(url, 'GET', path)))
        expect(new Set(answers.map(({ status }) => status))).toEqual(
          new Set([path.startsWith('/cdn') || path.startsWith('/image') ? 404 : 200]),
        )
      }
    })
  })
}

describe.skipIf(!redisAvailable)('two servers on one Redis', () => {
  const context = useService({ env })

  it('share the limit', async () => {
    const { db, url, server } = context.service
    const second = await server()
    // On a machine that stalls, Redis can answer too late, and then a server counts by itself for a while.
    const shared = await until(async () => {
      const { key } = await givenUser(db)
      const answers = await Promise.all(Array.from({ length: 22 }, (_, n) => account(n % 2 ? url : second.url, key)))
      return answers.filter(({ status }) => status === 200).length === 10 ? key : undefined
    }, 'one count of both servers')
    for (const base of [url, second.url]) expectLimited(await account(base, shared))
  })
})

describe.skipIf(!redisAvailable)('while Redis is away', () => {
  let proxy: FaultProxy
  const context = useService(async () => {
    proxy = await startFaultProxy(await singleRedisUrl())
    return { env: { ...env, REDIS_URL: proxy.through(await singleRedisUrl()) } }
  })
  let redis: RedisClient
  beforeAll(async () => {
    redis = await openRedis(await singleRedisUrl())
  })
  afterAll(async () => {
    redis.disconnect()
    await proxy.close()
  })

  /** So that the loss is met by a connection that works. */
  const connected = () =>
    until(async () => {
      const { url, db, namespace } = context.service
      const owner = await givenUser(db)
      await account(url, owner.key)
      return redis.exists(keyNamer(redis, namespace)(`rate:personal:${owner.id}`))
    }, 'a count in Redis')

  it.each(['refuse', 'stall'] as const)(
    'the server answers requests, a submit too, and limits them by its own count (%s)',
    async (fault) => {
      const { db, url } = context.service
      const owner = await givenUser(db)
      await connected()
      await proxy[fault]()
      try {
        // A server that waited for Redis would never answer.
        const submitted = await call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
        expect(submitted).toMatchObject({ status: 201 })
        expect(await spend(url, owner.key, 10)).toEqual([...Array(9).fill(200), 429])
      } finally {
        await proxy.pass()
      }
    },
  )
})
