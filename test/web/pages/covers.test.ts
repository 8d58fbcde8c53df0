import sharp from 'sharp'
import { beforeEach, describe, expect, it } from 'vitest'
import { type ModelVersion, SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { actingAs } from '../../../src/core/operator/acting.js'
import { describeModel, moveModel, type NewCover, setCover } from '../../../src/core/operator/catalog.js'
import { administration, recordedIn } from '../../../src/db/operator/administration.js'
import { encodeCover } from '../../../src/images/encode-cover.js'
import { call } from '../../support/client.js'
import { givenImages } from '../../support/given-images.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf } from '../../support/website-client.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const query = (text: string, values: unknown[] = []) => context.service.db.pool.query(text, values)
const get = (path: string) => fetch(context.service.url + path, { redirect: 'manual' })
const acting = () => {
  const { db } = context.service
  const outside = { clearLeftovers: async () => undefined, removeImage: async () => undefined }
  return actingAs(
    { stores: administration(db), recorded: recordedIn(db), outside },
    { actor: 'the operator', reason: '' },
  )
}
const setCoverOf = (id: number, cover: NewCover) => setCover(acting(), id, cover)
const HEX = (digit: string) => `${digit.repeat(32)}.webp`

beforeEach(async () => {
  await query('UPDATE model_versions SET cover = NULL, description = NULL, position = NULL, is_default = false')
})

const page = async (path = '/playground') => {
  const user = await givenUser(context.service.db)
  const cookie = await givenSession(context.service.db, user)
  const answer = await fetch(context.service.url + path, { headers: { cookie } })
  return answer.text()
}
const coversOn = (html: string) =>
  [...html.matchAll(/<img src="\/covers\/(\d+)\/([^"]+)"/g)].map(([, id, file]) => [Number(id), file])

describe('the picture of a model', () => {
  it('is drawn from its ID where it has none, always alike and unlike all others', async () => {
    const drawings = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const answer = await get(`/covers/${n + 1}/drawn-1.svg`)
        expect(answer.headers.get('content-type')).toBe('image/svg+xml')
        expect(answer.headers.get('cache-control')).toContain('immutable')
        return answer.text()
      }),
    )
    expect(new Set(drawings).size).toBe(60)
    expect(await (await get('/covers/7/drawn-1.svg')).text()).toBe(drawings[6])
    for (const drawing of drawings) {
      expect(drawing.length).toBeLessThan(3000)
      expect((await sharp(Buffer.from(drawing)).metadata()).width).toBe(384)
    }
  })

  it('is the one that was uploaded, and is forgotten once no version has it', async () => {
    const webp = await encodeCover(
      await sharp({ create: { width: 900, height: 900, channels: 3, background: 'red' } })
        .jpeg()
        .toBuffer(),
    )
    await setCoverOf(MODEL.id, { name: HEX('a'), webp })
    const answer = await get(`/covers/${MODEL.id}/${HEX('a')}`)
    expect([answer.headers.get('content-type'), answer.headers.get('x-content-type-options')]).toEqual([
      'image/webp',
      'nosniff',
    ])
    expect(await sharp(Buffer.from(await answer.arrayBuffer())).metadata()).toMatchObject({ width: 384, height: 256 })
    await setCoverOf(MODEL.id, { name: HEX('b'), webp })
    expect((await query('SELECT name FROM model_covers')).rows).toEqual([{ name: HEX('b') }])
    expect((await get(`/covers/${MODEL.id}/${HEX('a')}`)).headers.get('content-type')).toBe('image/svg+xml')
    await setCoverOf(MODEL.id, undefined)
    expect((await query('SELECT name FROM model_covers')).rows).toEqual([])
  })

  it('is a public image for as long as that is there', async () => {
    const [slug = ''] = await givenImages(context.service.db, await givenUser(context.service.db), [{}])
    await setCoverOf(MODEL.id, { slug })
    const path = `/covers/${MODEL.id}/${slug}`
    expect(await page()).toContain(`src="${path}"`)
    const answer = await get(path)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, `http://easel.test/cdn/${slug}.webp`])
    await query('UPDATE images SET removed_at = now() WHERE slug = $1', [slug])
    expect((await get(path)).headers.get('content-type')).toBe('image/svg+xml')
  })

  it.each(['/covers/0/drawn-1.svg', '/covers/x/drawn-1.svg', '/covers/1/drawn-2.svg', '/covers/1/..%2fsecret'])(
    '%s is none',
    async (path) => {
      expect((await get(path)).status).toBeGreaterThanOrEqual(400)
      expect((await get(path)).status).toBeLessThan(500)
    },
  )

  it('is told to programs', async () => {
    const { key } = await givenUser(context.service.db)
    const told = async () => {
      const { body } = await call(context.service.url, 'GET', '/api/v1/models', { key })
      return body.models.find(({ id }: ModelVersion) => id === MODEL.id).cover_image
    }
    expect(await told()).toBeNull()
    await setCoverOf(MODEL.id, { name: HEX('c'), webp: Buffer.from('x') })
    expect(await told()).toBe(`http://easel.test/covers/${MODEL.id}/${HEX('c')}`)
  })
})

describe('the models of the form', () => {
  it('begin with the default, then stand in the operator’s order, each with its line', async () => {
    await query('UPDATE model_versions SET is_default = id = 12')
    await describeModel(acting(), 13, 'Plain <b>photographs</b>')
    for (const _ of SEED_MODELS) await moveModel(acting(), 13, -1)
    await moveModel(acting(), 11, -1)
    const html = await page()
    const shown = coversOn(html)
    expect(shown.length).toBe(SEED_MODELS.length)
    expect(shown.slice(0, 2)).toEqual([
      [12, 'drawn-1.svg'],
      [13, 'drawn-1.svg'],
    ])
    expect(html).toContain('Plain &lt;b>photographs&lt;/b>')
    // The API's order is the contract's.
    const { key } = await givenUser(context.service.db)
    const { body } = await call(context.service.url, 'GET', '/api/v1/models', { key })
    expect(body.models[0].id).toBe(12)
    expect(body.models[1].id).toBe(2)
  })

  it('say which are warm, which no GPU server has, and nothing of the others', async () => {
    await query(`INSERT INTO backends (worker, name, up, models, loaded) VALUES
      ('w', 'b', true, (SELECT array_agg(filename) FROM model_versions WHERE id IN (1, 2)),
        (SELECT filename FROM model_versions WHERE id = 2))`)
    // What is known of backends is some seconds old.
    const html = await until(async () => {
      const now = await page()
      return now.includes('class="warm"') ? now : undefined
    }, 'a warm model')
    const cards = html.split('<label class="choice">').map((it) => [it, textOf(it)] as const)
    const card = (id: number) => cards.find(([it]) => it.includes(`value="${id}"`))?.[1]
    expect(card(2)).toContain('· warm')
    expect(card(1)).not.toMatch(/warm|no GPU server/)
    expect(card(3)).toContain('· no GPU server')
    await query('DELETE FROM backends')
  })

  it('are searched where there are more than twelve, and thirty of them stay light', async () => {
    expect(await page()).not.toContain('type="search"')
    await query(`INSERT INTO model_versions (id, name, model_name, base_model, type, filename, description)
      SELECT 500 + n, 'v' || n, 'A model with a long name ' || n, 'Illustrious', 'Checkpoint', n || '.safetensors',
        repeat('Words about it. ', 12) FROM generate_series(1, 20) n`)
    const html = await page()
    expect(html).toContain('type="search"')
    expect(coversOn(html).length).toBe(30)
    expect(Buffer.byteLength(html)).toBeLessThan(100_000)
    await query('DELETE FROM model_versions WHERE id > 500')
  })
})
