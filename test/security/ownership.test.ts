import { beforeAll, describe, expect, it } from 'vitest'
import { newGenerationId, newSlug } from '../../src/core/generations/generation.js'
import { type Answer, call, PROMPT } from '../support/client.js'
import { chargesOf, type GivenUser, givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })
const STATES = ['queued', 'processing', 'succeeded', 'failed'] as const

/** One generation in each state, each of another user, since one may be active at a time. */
const theirs = new Map<(typeof STATES)[number], { owner: GivenUser; id: string; slug: string }>()
let stranger: GivenUser

beforeAll(async () => {
  const { db } = context.service
  const worker = standInWorker(db)
  for (const state of [...STATES].reverse()) {
    const owner = await givenUser(db)
    const { id, slugs } = await givenGeneration(db, owner)
    theirs.set(state, { owner, id, slug: slugs[0] as string })
    if (state === 'queued') continue
    const claimed = await worker.claim()
    expect(claimed.id).toBe(id)
    if (state === 'succeeded') await worker.succeed(claimed)
    if (state === 'failed') await worker.fail(claimed, 'A secret reason.')
  }
  stranger = await givenUser(db)
})

const send = (method: string, path: string, { key }: GivenUser) => call(context.service.url, method, path, { key })
/** Everything of an answer that could tell one from another. */
const shown = ({ status, body, headers }: Answer) => ({
  status,
  body,
  length: headers.get('content-length'),
  type: headers.get('content-type'),
  code: headers.get('x-error-code'),
  progress: headers.get('x-progress'),
  cache: headers.get('cache-control'),
})

describe.each(STATES)('another user’s generation that is %s', (state) => {
  it('gets the same answers as an ID that does not exist', async () => {
    const { owner, id } = theirs.get(state) ?? expect.fail('no such generation')
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH', 'POST'])
      for (const path of ['/api/v1/generate/', '/v1/images/generate/', '/v1/images/', '/api/v1/models/', '/image/']) {
        const absent = newGenerationId()
        const [met, unmet] = [await send(method, path + id, stranger), await send(method, path + absent, stranger)]
        const text = JSON.stringify(shown(met)).replaceAll(id, absent)
        expect(text, `${method} ${path}`).toBe(JSON.stringify(shown(unmet)))
        expect([404, 405], `${method} ${path}`).toContain(met.status)
      }
    expect(await send('GET', `/api/v1/generate/${id}`, owner)).toMatchObject({
      status: 200,
      body: { id, status: state },
    })
  })

  it('cannot be reached by the slugs of its images either', async () => {
    const { slug } = theirs.get(state) ?? expect.fail('no such generation')
    const [met, unmet] = [
      await send('GET', `/api/v1/generate/${slug}`, stranger),
      await send('GET', `/api/v1/generate/${newSlug()}`, stranger),
    ]
    expect(shown(met)).toEqual(shown(unmet))
    // An image is anyone's who has its link, once there is one.
    const page = await send('GET', `/image/${slug}`, stranger)
    expect(page.status).toBe(state === 'succeeded' ? 200 : 404)
  })
})

describe('fields that only the service decides', () => {
  it('cannot be set by a submit, in either interface, and the try costs nothing', async () => {
    const { db, url } = context.service
    const victim = await givenUser(db)
    const fields = {
      ...{
        id: newGenerationId(),
        user_id: victim.id,
        userId: victim.id,
        account_id: victim.id,
        api_key_id: victim.keyId,
      },
      ...{ cost: 0, credits: 1000, credits_charged: 0, metered: true, lane: 'create_image', priority: 1 },
      ...{
        status: 'succeeded',
        attempt: 9,
        tries: 0,
        deadline_at: '2100-01-01',
        slugs: ['x'],
        created_at: '2000-01-01',
      },
    }
    for (const [field, value] of Object.entries(fields))
      for (const [path, body] of [
        ['/api/v1/generate', PROMPT],
        ['/v1/images/generate', { prompt: 'x' }],
      ] as const) {
        const answer = await call(url, 'POST', path, { key: stranger.key, body: { ...body, [field]: value } })
        expect(answer.status, field).toBe(400)
        expect(JSON.stringify(answer.body)).toContain(field)
      }
    expect(await chargesOf(db, stranger)).toEqual([])
    expect(await chargesOf(db, victim)).toEqual([])
  })

  it('have the values of the service after a plain submit', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const { body } = await call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
    expect(await rowOf(db, body)).toMatchObject({
      ...{ user_id: owner.id, api_key_id: owner.keyId, lane: 'personal', metered: false, cost: 1, status: 'queued' },
    })
  })
})
