import { expect, it } from 'vitest'
import { PROMPT } from '../support/client.js'
import { type GivenUser, givenGeneration, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '60', RATE_LIMIT_WINDOW_SECONDS: '600' } })
const END = new Date('2031-02-03T04:05:06.789Z')

/** Status and body as they go over the wire; what is drawn or told by a clock is named instead of shown. */
async function exchange(method: string, path: string, key: string | undefined, body?: unknown): Promise<string> {
  const answer = await fetch(`${context.service.url}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const type = answer.headers.get('content-type')
  const sent = body === undefined ? '' : ` ${typeof body === 'string' ? body : JSON.stringify(body)}`
  const text = `${method} ${path}${sent}\n${answer.status} ${type}\n${await answer.text()}\n`
  return text
    .replace(/gen_[0-9a-z]{26}/g, 'gen_<id>')
    .replace(/\b[0-9A-Za-z]{22}\b/g, '<slug>')
    .replace(/user-[0-9a-f]{12}/g, '<username>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (time) => (time === END.toISOString() ? time : '<time>'))
    .replace(/("retry_after":|Try again in )\d+/g, '$1<seconds>')
}

it('the specification’s endpoints answer the same bodies as ever, byte for byte', async () => {
  const { db } = context.service
  const worker = standInWorker(db)
  const subscribed = (credits: number) => givenUser(db, { credits, subscription: { endDate: END } })
  const user = await subscribed(7)
  const said: string[] = []
  const say = async (...args: Parameters<typeof exchange>) => void said.push(await exchange(...args))
  const submitted = async ({ key }: GivenUser) =>
    (
      await db.pool.query(
        `SELECT g.id FROM generations g JOIN api_keys k ON k.user_id = g.user_id WHERE k.hash = sha256($1::bytea)
        ORDER BY g.seq DESC LIMIT 1`,
        [Buffer.from(key)],
      )
    ).rows[0].id as string
  const path = (id: string) => `/api/v1/generate/${id}`

  await say('GET', '/api/v1/account', user.key)
  await say('GET', '/api/v1/account', (await givenUser(db, { subscription: null })).key)
  await say('GET', '/api/v1/account', (await givenUser(db, { subscription: { status: 'canceled', endDate: END } })).key)
  await say('GET', '/api/v1/account', undefined)
  await say('GET', '/api/v1/models', user.key)
  await say('GET', '/api/v1/generate', user.key)
  await say('GET', '/api/v1/generate/', user.key)
  await say('GET', path('gen_00000000000000000000000000'), user.key)
  await say('GET', '/api/v1/nothing', user.key)

  for (const body of [
    '{broken',
    '',
    [],
    {},
    { prompt: 5 },
    { prompt: 'x' },
    { ...PROMPT, steps: 0 },
    { ...PROMPT, sampler: 'euler_b' },
    { ...PROMPT, cfgScale: 3 },
    { ...PROMPT, model_version_id: 999 },
    { ...PROMPT, prompt: 'nsfw child' },
    { ...PROMPT, batch_size: 4, model_version_id: 10, width: 2048, height: 2048 },
  ])
    await say('POST', '/api/v1/generate', user.key, body)
  await say('POST', '/api/v1/generate', (await givenUser(db, { subscription: null })).key, PROMPT)
  await say('POST', '/api/v1/generate', (await subscribed(1)).key, { ...PROMPT, batch_size: 3 })

  await say('POST', '/api/v1/generate', user.key, { ...PROMPT, batch_size: 2, seed: 11 })
  await say('POST', '/api/v1/generate', user.key, PROMPT)
  const id = await submitted(user)
  await until(async () => (await exchange('GET', path(id), user.key)).includes('"queue_position":1'), 'the first place')
  await say('GET', path(id), user.key)
  const claimed = await worker.claim()
  await say('GET', path(id), user.key)
  await worker.succeed(claimed)
  await say('GET', path(id), user.key)
  const failing = await givenGeneration(db, user)
  await worker.fail(await worker.claim(), 'The GPU server ran out of memory. Try a smaller picture.')
  await say('GET', path(failing.id), user.key)

  for (const body of [
    '{broken',
    {},
    { prompt: 'x', steps: 19 },
    { prompt: 'x', sampler: 'euler_a' },
    { prompt: 'nsfw child' },
  ])
    await say('POST', '/v1/images/generate', user.key, body)
  await say('POST', '/v1/images/generate', undefined, { prompt: 'x' })
  await say('POST', '/v1/images/generate', (await subscribed(0)).key, { prompt: 'x' })
  await say('GET', '/v1/nothing', user.key)
  const created = say('POST', '/v1/images/generate', user.key, { prompt: 'a lighthouse at dusk', seed: 5 })
  const creating = await worker.claim()
  await say('POST', '/v1/images/generate', user.key, { prompt: 'another' })
  await worker.succeed(creating)
  await created
  const failed = say('POST', '/v1/images/generate', user.key, { prompt: 'a red fox', model: 'plant-milk' })
  await worker.fail(await worker.claim(), 'The GPU server ran out of memory. Try a smaller picture.')
  await failed

  let last = ''
  for (let n = 0; n < 61 && !last.includes('rate limit'); n++) last = await exchange('GET', '/api/v1/account', user.key)
  said.push(last)
  await expect(said.join('\n')).toMatchFileSnapshot('spec-bodies.snapshot.txt')
})
