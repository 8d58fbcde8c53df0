import { describe, expect, it } from 'vitest'
import { type Answer, call, expectCreateError, PROMPT } from '../../support/client.js'
import { chargesOf, type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const BODY = { prompt: 'a lighthouse at dusk' }
const create = ({ key }: GivenUser, more: { url?: string; idempotencyKey?: string; signal?: AbortSignal } = {}) =>
  call(more.url ?? context.service.url, 'POST', '/v1/images/generate', {
    key,
    body: BODY,
    ...(more.signal && { signal: more.signal }),
    ...(more.idempotencyKey && { headers: { 'idempotency-key': more.idempotencyKey } }),
  })
const poll = ({ key }: GivenUser, id: string) => call(context.service.url, 'GET', `/api/v1/generate/${id}`, { key })
const worker = () => standInWorker(context.service.db)

/** More than the server has connections to Postgres: were they held, the others would get none, and a 503. */
const WAITING = 30

/** The server's own waiting time is two minutes. */
const impatient = async () => (await context.service.server({ createImageTimeoutSeconds: 1 })).url

const idOf = (answer: Answer): string => /gen_[0-9a-z]{26}/.exec(answer.body.error.message)?.[0] ?? 'none'

describe('a Create Image request that waits too long', () => {
  it('is a 504, and a generation that has not started is canceled and its credit given back', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const answer = await create(owner, { url: await impatient() })
    expectCreateError(
      answer,
      504,
      'timeout',
      /^No GPU was free within 1 s, so generation gen_\w+ was canceled and any credits charged for it were given back/,
    )
    expect(await chargesOf(db, owner)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
    expect((await poll(owner, idOf(answer))).body).toEqual({
      id: idOf(answer),
      status: 'failed',
      error: expect.stringMatching(/^Canceled: no GPU was free in time/),
    })
    // Its account is free at once.
    expect(await call(context.service.url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })).toMatchObject(
      { status: 201 },
    )
    await worker().fail(await worker().claim(), 'done with')
  })

  it('is a 504, but a generation that runs goes on, and the same Idempotency-Key fetches it', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    // It runs before anybody waits for it in vain, however slow the machine is.
    const hangUp = new AbortController()
    const left = expect(create(owner, { idempotencyKey: 'k', signal: hangUp.signal })).rejects.toThrow(/abort/)
    const claimed = await worker().claim()
    hangUp.abort()
    await left
    const answer = await create(owner, { url: await impatient(), idempotencyKey: 'k' })
    expectCreateError(
      answer,
      504,
      'timeout',
      new RegExp(`not ready after 1 s\\. Generation ${claimed.id} goes on and its image will be saved`),
    )
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
    expect((await poll(owner, claimed.id)).body).toEqual({ id: claimed.id, status: 'processing' })

    await worker().succeed(claimed)
    const fetched = await create(owner, { idempotencyKey: 'k' })
    expect(fetched).toMatchObject({ status: 200, body: { success: true, data: { image_id: claimed.slugs[0] } } })
    expect(fetched.headers.get('idempotent-replayed')).toBe('true')
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
  })
})

describe('a Create Image client that hangs up', () => {
  it('stops only the waiting: the image is made, and the same Idempotency-Key fetches it', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const hangUp = new AbortController()
    const left = expect(create(owner, { idempotencyKey: 'k', signal: hangUp.signal })).rejects.toThrow(/abort/)
    const claimed = await worker().claim()
    hangUp.abort()
    await left
    const repeat = create(owner, { idempotencyKey: 'k' })
    await worker().succeed(claimed)
    expect(await repeat).toMatchObject({ status: 200, body: { data: { image_id: claimed.slugs[0] } } })
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
  })

  it('keeps its place in the queue', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const hangUp = new AbortController()
    const left = expect(create(owner, { signal: hangUp.signal })).rejects.toThrow(/abort/)
    await until(async () => (await chargesOf(db, owner)).length === 1, 'the charge')
    hangUp.abort()
    await left
    const claimed = await worker().claim()
    expect(claimed.accountId).toBe(owner.id)
    await worker().succeed(claimed)
  })
})

describe('a repeat with the same Idempotency-Key', () => {
  it.each([
    ['success', 200],
    ['failure', 500],
  ])('waits for the same generation, and gets its %s', async (end, status) => {
    const owner = await givenUser(context.service.db)
    const first = create(owner, { idempotencyKey: 'k' })
    const claimed = await worker().claim()
    const repeats = [create(owner, { idempotencyKey: 'k' }), create(owner, { idempotencyKey: 'k' })]
    await (end === 'success' ? worker().succeed(claimed) : worker().fail(claimed, 'Out of memory.'))
    const answers = await Promise.all([first, ...repeats])
    for (const answer of answers) expect(answer).toMatchObject({ status, body: (await first).body })
    if (status === 200)
      expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true', 'true'])
    // And whoever comes later gets the same.
    expect(await create(owner, { idempotencyKey: 'k' })).toMatchObject({ status, body: (await first).body })
    expect(await chargesOf(context.service.db, owner)).toHaveLength(end === 'success' ? 1 : 2)
  })
})

describe('thirty clients that wait at once', () => {
  it('hold up nobody else, and all get their images', async () => {
    const { db, url } = context.service
    const developer = await givenUser(db, { developer: { concurrency: WAITING } })
    const subscriber = await givenUser(db)
    const waiting = Promise.all(Array.from({ length: WAITING }, () => create(developer)))
    const active = async () =>
      (await db.pool.query(`SELECT 1 FROM generations WHERE user_id = $1`, [developer.id])).rows.length
    await until(async () => (await active()) === WAITING, 'all that wait')

    const others = await Promise.all(
      Array.from({ length: 25 }, () => call(url, 'GET', '/api/v1/account', { key: subscriber.key })),
    )
    expect(others.map(({ status }) => status)).toEqual(Array(25).fill(200))
    for (let n = 0; n < WAITING; n++) await worker().succeed(await worker().claim())
    const answers = await waiting
    expect(answers.map(({ status }) => status)).toEqual(Array(WAITING).fill(200))
    expect(new Set(answers.map(({ body }) => body.data.image_id)).size).toBe(WAITING)
  })
})
