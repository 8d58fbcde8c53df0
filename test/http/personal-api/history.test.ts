import { describe, expect, it } from 'vitest'
import { call, expectPersonalError } from '../../support/client.js'
import { type GivenUser, givenGeneration, givenUser, givenWaiting, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { unguarded } from '../../support/unguarded.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const worker = () => standInWorker(context.service.db)
const get = ({ key }: GivenUser, path: string) => call(context.service.url, 'GET', `/api/v1${path}`, { key })
const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id)

/** Runs it to its end, so that the next one may be submitted. */
async function givenEnded(user: GivenUser, asked: Parameters<typeof givenGeneration>[2] = {}, failure?: string) {
  const { db } = context.service
  // What other tests have left waiting would come first.
  await db.pool.query(`UPDATE generations SET not_before = 'infinity' WHERE status = 'queued'`)
  const generation = await givenGeneration(db, user, asked)
  const claimed = await worker().claim()
  await (failure === undefined ? worker().succeed(claimed) : worker().fail(claimed, failure))
  return generation
}

/** All pages of a list, by its cursors. */
async function pagesOf(user: GivenUser, path: string, name: string, between: () => Promise<unknown> = async () => {}) {
  const pages: { id: string }[][] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await get(user, `${path}${cursor && `&cursor=${cursor}`}`)
    expect(status).toBe(200)
    pages.push(body[name])
    if (body.next_cursor === null) return pages
    cursor = body.next_cursor
    await between()
  }
}

describe('GET /api/v1/generations', () => {
  it('shows what was asked for, when it ran, what it cost and what came of it', async () => {
    const user = await givenUser(context.service.db)
    const failed = await givenEnded(user, { batchSize: 2 }, 'Out of memory.')
    const done = await givenEnded(user, { batchSize: 2, negativePrompt: 'fog', lane: 'create_image' })
    const waiting = await givenGeneration(context.service.db, user)
    const { status, body, headers } = await get(user, '/generations')
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body.next_cursor).toBeNull()
    expect(ids(body.generations)).toEqual([waiting.id, done.id, failed.id])
    const [ofWaiting, ofDone, ofFailed] = body.generations
    expect(ofWaiting).toMatchObject({
      ...{ status: 'queued', started_at: null, finished_at: null, queue_ms: null, run_ms: null, images: [] },
      ...{ credits: { charged: 1, refunded: 0 }, error: null },
    })
    expect(ofDone).toEqual({
      ...{ id: done.id, status: 'succeeded', interface: 'create_image', metered: false, error: null },
      ...{ model_version_id: MODEL.id, model_name: MODEL.modelName, prompt: 'a lighthouse at dusk' },
      ...{ negative_prompt: 'fog', width: 832, height: 1216, batch_size: 2, steps: 30, cfg_scale: 7 },
      ...{ sampler: 'euler_a', seed: 42, created_at: expect.any(String), started_at: expect.any(String) },
      ...{ finished_at: expect.any(String), queue_ms: expect.any(Number), run_ms: expect.any(Number) },
      credits: { charged: 2, refunded: 0 },
      images: done.slugs.map((slug, n) => ({ id: slug, url: `http://easel.test/cdn/${slug}.png`, seed: 42 + n })),
    })
    const { created_at: created, started_at: started, finished_at: finished, queue_ms: queued, run_ms: ran } = ofDone
    expect(Date.parse(started) - Date.parse(created)).toBe(queued)
    expect(Date.parse(finished) - Date.parse(started)).toBe(ran)
    expect(ofFailed).toMatchObject({
      ...{ status: 'failed', error: 'Out of memory.', images: [] },
      credits: { charged: 2, refunded: 2 },
    })
  })

  it('shows metered generations, too, and none of other users', async () => {
    const { db } = context.service
    const [owner, other] = [await givenUser(db), await givenUser(db)]
    const { personal, create_image } = await givenWaiting(db, owner, { personal: 1, create_image: 1 })
    await givenWaiting(db, other, { personal: 1, create_image: 0 })
    const { body } = await get(owner, '/generations')
    expect(ids(body.generations)).toEqual([...create_image, ...personal])
    expect(body.generations[0]).toMatchObject({ metered: true, credits: { charged: 0, refunded: 0 } })
  })

  it('comes in pages that neither repeat nor skip one while new generations arrive', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const { personal } = await givenWaiting(db, user, { personal: 25, create_image: 0 })
    const arrive = () => givenWaiting(db, user, { personal: 3, create_image: 0 })
    const pages = await pagesOf(user, '/generations?limit=10', 'generations', arrive)
    expect(pages.map((page) => page.length)).toEqual([10, 10, 5])
    expect(ids(pages.flat())).toEqual(personal.reverse())
  })

  it('ends with its last page, also if that is full', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await givenWaiting(db, user, { personal: 4, create_image: 0 })
    expect((await pagesOf(user, '/generations?limit=2', 'generations')).map((page) => page.length)).toEqual([2, 2])
    expect(await pagesOf(await givenUser(db), '/generations?limit=2', 'generations')).toEqual([[]])
  })

  it('can be narrowed to a status, a model version or a time', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const { personal: rows } = await givenWaiting(db, user, { personal: 4, create_image: 0 })
    const [first, second, third, fourth] = rows as [string, string, string, string]
    const set = (id: string, what: string) => unguarded(db, `UPDATE generations SET ${what} WHERE id = $1`, [id])
    // The order of submits is also that of times.
    for (const [n, id] of rows.entries()) await set(id, `created_at = '2026-01-0${n + 1}T00:00:00Z'`)
    await set(second, `status = 'failed', error = 'It failed.', finished_at = now()`)
    await set(third, 'model_version_id = 12')
    const found = async (query: string) => ids((await get(user, `/generations?${query}`)).body.generations)
    expect(await found('status=failed')).toEqual([second])
    expect(await found('status=queued')).toEqual([fourth, third, first])
    expect(await found('model_version_id=12')).toEqual([third])
    expect(await found('model_version_id=12&status=failed')).toEqual([])
    expect(await found('since=2026-01-02T00:00:00Z&until=2026-01-04T00:00:00Z')).toEqual([third, second])
    for (const third3 of [
      '2026-01-03T01:00:00%2B01:00',
      '2026-01-03T01:00:00+01:00',
      '2026-01-03',
      '2026-01-03T00:00:00.000000Z',
    ])
      expect(await found(`since=${third3}`), third3).toEqual([fourth, third])
    const page = await get(user, '/generations?status=queued&limit=2')
    expect(await found(`status=queued&limit=2&cursor=${page.body.next_cursor}`)).toEqual([first])
  })

  it.each([
    ['limit=0', /^limit must be an integer from 1 to 100\.$/],
    ['limit=101', /^limit must be/],
    ['limit=ten', /^limit must be/],
    ['status=done', /^status must be one of: queued, processing, succeeded, failed\.$/],
    ['since=yesterday', /^since must be an ISO 8601 time/],
    ['since=2026-02-30', /^since must be an ISO 8601 time/],
    ['model_version_id=x', /^model_version_id must be an integer/],
    ['cursor=x', /^cursor must be a next_cursor of this list/],
    ['cursor=MS4y4', /^cursor must be/],
    ['cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5LjE', /^cursor must be/],
    ['statuss=failed', /^Unknown query parameter "statuss": did you mean "status"\?$/],
  ])('refuses %s', async (query, sentence) => {
    expectPersonalError(await get(await givenUser(context.service.db), `/generations?${query}`), 400, sentence)
  })
})

describe('a list of the account', () => {
  const most = Number.MAX_SAFE_INTEGER
  const cursor = (...place: number[]) => Buffer.from(place.join('.')).toString('base64url')

  it.each([
    ['/generations?since=0000-01-01T00:00:00Z&until=9999-12-31T23:59:59Z', 'generations', 2],
    ['/generations?model_version_id=999999999999999', 'generations', 0],
    [`/generations?cursor=${cursor(most, most)}`, 'generations', 2],
    [`/generations?cursor=${cursor(0, 0)}`, 'generations', 0],
    [`/images?cursor=${cursor(most, most, most)}`, 'images', 0],
    [`/credits?cursor=${cursor(most)}`, 'entries', 1],
  ])('answers any time, place and number without an error: %s', async (path, name, length) => {
    const { db } = context.service
    const user = await givenUser(db)
    await givenWaiting(db, user, { personal: 2, create_image: 0 })
    const { status, body } = await get(user, path)
    expect(status).toBe(200)
    expect(body[name]).toHaveLength(length)
  })
})

describe('GET /api/v1/credits', () => {
  it('shows every change of the user’s credits, newest first, with the balance after it', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 5 })
    await givenUser(db)
    await db.pool.query(`UPDATE users SET credits = credits + 10 WHERE id = $1`, [user.id])
    await db.pool.query(
      `INSERT INTO credit_ledger (user_id, kind, delta, balance, note, ref)
       VALUES ($1, 'grant', 10, 15, 'Happy birthday', 'invoice-7')`,
      [user.id],
    )
    const failed = await givenEnded(user, { batchSize: 2 }, 'Out of memory.')
    const { status, body } = await get(user, '/credits')
    expect(status).toBe(200)
    expect(body).toMatchObject({ credits: 15, next_cursor: null })
    const entry = { note: null, generation_id: null, created_at: expect.any(String) }
    expect(body.entries).toEqual([
      { ...entry, kind: 'refund', delta: 2, balance: 15, generation_id: failed.id },
      { ...entry, kind: 'charge', delta: -2, balance: 13, generation_id: failed.id },
      { ...entry, kind: 'grant', delta: 10, balance: 15, note: 'Happy birthday' },
      { ...entry, kind: 'grant', delta: 5, balance: 5 },
    ])
    expect(JSON.stringify(body)).not.toContain('invoice-7')
    const pages = await pagesOf(user, '/credits?limit=3', 'entries')
    expect(pages.map((page) => page.length)).toEqual([3, 1])
    expect(pages.flat()).toEqual(body.entries)
  })

  it('refuses the cursor of another list', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await givenWaiting(db, user, { personal: 2, create_image: 0 })
    const { body } = await get(user, '/generations?limit=1')
    expectPersonalError(await get(user, `/credits?cursor=${body.next_cursor}`), 400, /^cursor must be/)
  })
})
