import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { call, expectPersonalError } from '../../support/client.js'
import { type GivenUser, givenKey, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { unguarded } from '../../support/unguarded.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const get = ({ key }: GivenUser, query = '', headers = {}) =>
  call(context.service.url, 'GET', `/api/v1/usage${query}`, { key, headers })

const model = { ...(SEED_MODELS[1] as typeof MODEL), creditsPerImage: 3 }

/** Two images with the first key, and one with another one that fails, on each of these days. */
async function given(days: readonly string[]) {
  const { db } = context.service
  const user = await givenUser(db)
  const other = await givenKey(db, user.id)
  await db.pool.query(`UPDATE api_keys SET name = CASE id WHEN $1 THEN '=first' ELSE 'second' END WHERE user_id = $2`, [
    user.keyId,
    user.id,
  ])
  for (const day of days) {
    const made = await givenEndedGeneration(db, user, { batchSize: 2 })
    const failed = await givenEndedGeneration(db, { ...user, ...other }, { model }, 'fail')
    await unguarded(db, 'UPDATE generations SET created_at = $1 WHERE id = ANY ($2)', [day, [made.id, failed.id]])
  }
  return { user, other }
}

describe('GET /api/v1/usage', () => {
  it('counts generations, images and credits of each day, key and model version, less what was given back', async () => {
    const { user, other } = await given(['2026-03-01T00:00:00Z', '2026-03-02T23:59:59.9Z'])
    const { status, body, headers } = await get(user, '?from=2026-03-01&to=2026-03-02')
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    const first = { key_id: user.keyId, key_name: '=first', model_version_id: MODEL.id, model_name: MODEL.modelName }
    const second = { key_id: other.keyId, key_name: 'second', model_version_id: model.id, model_name: model.modelName }
    expect(body).toEqual({
      ...{ from: '2026-03-01', to: '2026-03-02' },
      usage: ['2026-03-01', '2026-03-02'].flatMap((day) => [
        { day, ...first, generations: 1, images: 2, credits: 2 },
        { day, ...second, generations: 1, images: 0, credits: 0 },
      ]),
      total: { generations: 4, images: 4, credits: 4 },
    })
  })

  it('adds up for each day, key or model version', async () => {
    const { user } = await given(['2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z'])
    const by = async (group: string) => (await get(user, `?from=2026-03-01&to=2026-03-31&by=${group}`)).body.usage
    expect(await by('day')).toEqual([
      { day: '2026-03-01', generations: 2, images: 2, credits: 2 },
      { day: '2026-03-02', generations: 2, images: 2, credits: 2 },
    ])
    expect(await by('key')).toMatchObject([
      { key_name: '=first', generations: 2, images: 4, credits: 4 },
      { key_name: 'second', generations: 2, images: 0, credits: 0 },
    ])
    expect(await by('model')).toEqual([
      { model_version_id: MODEL.id, model_name: MODEL.modelName, generations: 2, images: 4, credits: 4 },
      { model_version_id: model.id, model_name: model.modelName, generations: 2, images: 0, credits: 0 },
    ])
  })

  it('leaves out the days before and after, and what is of other accounts', async () => {
    const { user } = await given(['2026-03-01T23:59:59.999Z', '2026-03-02T12:00:00Z', '2026-03-03T00:00:00Z'])
    await given(['2026-03-02T12:00:00Z'])
    const { body } = await get(user, '?from=2026-03-02&to=2026-03-02&by=day')
    expect(body.usage).toEqual([{ day: '2026-03-02', generations: 2, images: 2, credits: 2 }])
  })

  it('is of the last 30 days, today included, unless it is said otherwise', async () => {
    const { user } = await given([new Date().toISOString()])
    const { body } = await get(user)
    expect(body.total).toEqual({ generations: 2, images: 2, credits: 2 })
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(29 * 86_400_000)
    expect((await get(user, '?to=2026-03-30')).body).toMatchObject({ from: '2026-03-01', usage: [] })
  })

  it('counts what developer keys make, which costs nothing', async () => {
    const { db } = context.service
    const developer = await givenUser(db, { developer: { concurrency: 2 } })
    await givenEndedGeneration(db, developer, { batchSize: 3 })
    const personal = { ...developer, ...(await givenKey(db, developer.id)) }
    expect((await get(personal)).body.total).toEqual({ generations: 1, images: 3, credits: 0 })
  })

  it('answers with CSV where it is asked to, in which no name is a formula', async () => {
    const { user, other } = await given(['2026-03-01T12:00:00Z'])
    const span = '?from=2026-03-01&to=2026-03-01'
    const answer = await get(user, `${span}&format=csv`)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.body).toMatch(/^day,key_id,key_name,model_version_id,model_name,generations,images,credits\r\n/)
    const rows = parse(answer.body, { columns: true })
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatchObject({ day: '2026-03-01', key_id: user.keyId, key_name: "'=first", images: '2' })
    expect((await get(user, span, { accept: 'text/csv' })).body).toBe(answer.body)
    const byKey = await get(user, `${span}&by=key`, { accept: 'text/csv;q=0.9, application/json;q=0.1' })
    expect(byKey.body).toBe(
      `key_id,key_name,generations,images,credits\r\n${user.keyId},'=first,1,2,2\r\n${other.keyId},second,1,0,0\r\n`,
    )
    expect((await get(user, `${span}&format=json`, { accept: 'text/csv' })).body.total.images).toBe(2)
    expect((await get(user, span, { accept: '*/*' })).body.total.images).toBe(2)
  })

  it.each([
    ['?from=yesterday', /^from must be a day such as/],
    ['?to=2026-02-30', /^to must be a day such as/],
    ['?to=0001-01-01', /^to must be a day such as/],
    ['?from=2026-03-02&to=2026-03-01', /^from must not be after the last day\./],
    ['?from=2025-03-01&to=2026-03-02', /^from must be within 366 days/],
    ['?from=1971-01-01&to=9999-12-31', /^from must be within 366 days/],
    ['?by=hour', /^by must be one of: day, key, model\./],
    ['?format=xml', /^format must be one of: json, csv\./],
  ])('refuses %s', async (query, sentence) => {
    const { db } = context.service
    expectPersonalError(await get(await givenUser(db), query), 400, sentence)
  })
})
