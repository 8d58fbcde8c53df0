import OpenAI from 'openai'
import { afterAll, describe, expect, it } from 'vitest'
import { whenAborted } from '../../../src/lib/abort-signals.js'
import { call } from '../../support/client.js'
import { chargesOf, type GivenUser, givenKey, givenUser } from '../../support/givens.js'
import { startHeldModeration } from '../../support/held-moderation.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { startSwitchableServer } from '../../support/switchable-server.js'
import { until } from '../../support/until.js'

const moderation = await startHeldModeration()
afterAll(() => moderation.refuse())
const context = useService({ env: { RATE_LIMIT_MAX: '1000', MODERATION_URL: moderation.url } })

const CREATE = '/v1/images/generate'
const OPENAI = '/v1/images/generations'
const BODY = { prompt: 'a lighthouse at dusk' }

const developer = () =>
  givenUser(context.service.db, { credits: 0, subscription: null, developer: { concurrency: 10 } })
const worker = () => standInWorker(context.service.db)

interface Asked {
  readonly path?: string
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly url?: string
  readonly signal?: AbortSignal
}
const ask = ({ key }: Pick<GivenUser, 'key'>, { url = context.service.url, path = CREATE, ...asked }: Asked = {}) =>
  call(url, 'POST', path, { key, body: BODY, ...asked })

async function idsOf({ id }: GivenUser): Promise<string[]> {
  const { rows } = await context.service.db.pool.query('SELECT id FROM generations WHERE user_id = $1 ORDER BY seq', [
    id,
  ])
  return rows.map((row) => row.id)
}

/** Sends a request, and resolves once it is stored. */
async function sent(owner: GivenUser, asked: Asked = {}) {
  const before = (await idsOf(owner)).length
  const client = new AbortController()
  const left = expect(ask(owner, { ...asked, signal: client.signal })).rejects.toThrow(/abort/)
  await until(async () => (await idsOf(owner)).length > before, 'the submit')
  return async () => {
    client.abort()
    await left
  }
}

/** Sends a request that is stored, and hangs up. */
const hangUp = async (owner: GivenUser, asked?: Asked) => (await sent(owner, asked))()

/** How many of the user's generations nobody has got. */
const unanswered = async ({ id }: GivenUser) =>
  (
    await context.service.db.pool.query(
      'SELECT FROM unanswered_requests u JOIN generations g ON g.id = u.generation_id WHERE g.user_id = $1',
      [id],
    )
  ).rowCount

/** Lets everything of the user's that waits succeed. */
async function drawAll(owner: GivenUser): Promise<void> {
  const waiting = `SELECT FROM generations WHERE user_id = $1 AND status = 'queued'`
  while ((await context.service.db.pool.query(waiting, [owner.id])).rowCount)
    await worker().succeed(await worker().claim())
}

/** Sends a repeat, lets all be drawn, and tells whether it has joined an earlier request. */
async function joins(owner: GivenUser, asked: Asked & { readonly key?: string } = {}): Promise<boolean> {
  const before = (await idsOf(owner)).length
  let answered = false
  const answer = ask({ key: asked.key ?? owner.key }, asked).finally(() => {
    answered = true
  })
  await until(async () => {
    await drawAll(owner)
    return answered
  }, 'the answer')
  const { status, headers } = await answer
  expect(status).toBe(200)
  const isNew = (await idsOf(owner)).length > before
  expect(headers.get('idempotent-replayed')).toBe(isNew ? null : 'true')
  return !isNew
}

describe('a repeat of a request whose client hung up', () => {
  it.each([CREATE, OPENAI])('joins it on %s: drawn and metered once', async (path) => {
    const owner = await developer()
    await hangUp(owner, { path })
    const [id] = await idsOf(owner)
    const repeat = ask(owner, { path })
    await worker().succeed(await worker().claim())
    const { status, headers } = await repeat
    expect([status, headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(await idsOf(owner)).toEqual([id])
    const { rows } = await context.service.db.pool.query('SELECT generation_id FROM usage WHERE user_id = $1', [
      owner.id,
    ])
    expect(rows).toEqual([{ generation_id: id }])
  })

  it('gets the image at once that was drawn meanwhile', async () => {
    const owner = await developer()
    await hangUp(owner)
    await worker().succeed(await worker().claim())
    expect(await joins(owner)).toBe(true)
  })

  it('joins it with a personal key, too, again after it hung up itself: charged once', async () => {
    const owner = await givenUser(context.service.db)
    await hangUp(owner)
    await until(async () => (await unanswered(owner)) === 1, 'the first to be noted')
    const client = new AbortController()
    const left = expect(ask(owner, { signal: client.signal })).rejects.toThrow(/abort/)
    await until(async () => (await unanswered(owner)) === 0, 'the repeat to join')
    client.abort()
    await left
    expect(await joins(owner)).toBe(true)
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('joins it on another server, too', async () => {
    const owner = await developer()
    const other = await context.service.server()
    await hangUp(owner)
    await until(async () => (await unanswered(owner)) === 1, 'the note for other servers')
    expect(await joins(owner, { url: other.url })).toBe(true)
  })

  it('joins it even if the client hung up before it was stored', async () => {
    const owner = await developer()
    const [held, client] = [new AbortController(), new AbortController()]
    let reviews = 0
    moderation.before(async () => {
      if (++reviews === 1) await whenAborted(held.signal)
    })
    const left = expect(ask(owner, { signal: client.signal })).rejects.toThrow(/abort/)
    await until(() => reviews === 1, 'moderation')
    client.abort()
    await left
    const repeat = ask(owner)
    held.abort()
    await worker().succeed(await worker().claim())
    expect((await repeat).headers.get('idempotent-replayed')).toBe('true')
    expect([reviews, (await idsOf(owner)).length]).toEqual([1, 1])
  })

  it('leaves two requests two: each repeat joins another one, and a third is new', async () => {
    const owner = await developer()
    const clients = [await sent(owner), await sent(owner)]
    for (const leaves of clients) await leaves()
    const ids = await idsOf(owner)
    const repeats = [ask(owner), ask(owner)]
    await drawAll(owner)
    const slugs = (await Promise.all(repeats)).map(({ body }) => body.data.image_id)
    expect(new Set(slugs).size).toBe(2)
    expect(await idsOf(owner)).toEqual(ids)
    expect(await joins(owner)).toBe(false)
  })

  it('is new if the first one waits still', async () => {
    const owner = await developer()
    const both = [ask(owner), ask(owner)]
    await until(async () => (await idsOf(owner)).length === 2, 'both')
    await drawAll(owner)
    const slugs = (await Promise.all(both)).map(({ body }) => body.data.image_id)
    expect(new Set(slugs).size).toBe(2)
  })

  it('is new if the first one got its answer', async () => {
    const owner = await developer()
    expect([await joins(owner), await joins(owner)]).toEqual([false, false])
  })

  it('is new if the first one has failed', async () => {
    const owner = await developer()
    await hangUp(owner)
    await worker().fail(await worker().claim(), 'Out of memory.')
    expect(await joins(owner)).toBe(false)
  })

  it('is new after five minutes', async () => {
    const owner = await developer()
    await hangUp(owner)
    await until(async () => (await unanswered(owner)) === 1, 'the note')
    await context.service.db.pool.query(`UPDATE unanswered_requests SET created_at = now() - interval '5 minutes'`)
    expect(await joins(owner)).toBe(false)
  })

  const options: [string, Asked, Asked][] = [
    ['with an Idempotency-Key of its own', {}, { headers: { 'idempotency-key': 'mine' } }],
    ['if the first one had an Idempotency-Key', { headers: { 'idempotency-key': 'its' } }, {}],
    ['for another prompt', {}, { body: { prompt: 'a lighthouse at dawn' } }],
    ['in the other shape', { path: OPENAI }, {}],
    [
      'for another user of its sender',
      { path: OPENAI, body: { ...BODY, user: 'a' } },
      { path: OPENAI, body: { ...BODY, user: 'b' } },
    ],
    ['for two images', { path: OPENAI }, { path: OPENAI, body: { ...BODY, n: 2 } }],
  ]
  it.each(options)('is new %s', async (_what, first, second) => {
    const owner = await developer()
    await hangUp(owner, first)
    expect(await joins(owner, second)).toBe(false)
  })

  it('is new with another key of the same account', async () => {
    const owner = await developer()
    const { key } = await givenKey(context.service.db, owner.id, { concurrency: 10 })
    await hangUp(owner)
    expect(await joins(owner, { key })).toBe(false)
  })

  it('is the same however its body is written', async () => {
    const owner = await developer()
    await hangUp(owner, { body: { prompt: BODY.prompt, steps: 28 } })
    expect(await joins(owner, { body: { seed: -1, negative_prompt: null, ...BODY } })).toBe(true)
  })
})

describe('behind a proxy that gives up after a while', () => {
  it('OpenAI’s client, which repeats on its own, gets the image of its first try', async () => {
    const owner = await developer()
    let tries = 0
    const proxy = await startSwitchableServer(async (request, response) => {
      const client = new AbortController()
      const body = JSON.parse((await request.toArray()).join(''))
      const answer = ask(owner, { path: OPENAI, body, signal: client.signal })
      if (++tries <= 2) {
        const left = expect(answer).rejects.toThrow(/abort/)
        await until(async () => (await idsOf(owner)).length === 1 && (await unanswered(owner)) === 0, 'the request')
        client.abort()
        await left
        await until(async () => (await unanswered(owner)) === 1, 'the server to notice')
        response.writeHead(504, { 'retry-after-ms': '1' }).end()
      } else {
        await drawAll(owner)
        const { status, body } = await answer
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
    })
    const { data } = await new OpenAI({ apiKey: owner.key, baseURL: `${proxy.url}/v1` }).images.generate(BODY)
    await proxy.refuse()
    expect(tries).toBe(3)
    expect(data).toHaveLength(1)
    const { rows } = await context.service.db.pool.query('SELECT idx FROM usage WHERE user_id = $1', [owner.id])
    expect(rows).toEqual([{ idx: 0 }])
  })
})
