import { beforeAll, describe, expect, it } from 'vitest'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { visit } from '../../support/website-client.js'

const context = useService({ inFiles: true, worker: true, env: { INFERENCE_URL: 'preview:' } })
let user: GivenUser
let cookie: string

beforeAll(async () => {
  const { db } = context.service
  user = await givenUser(db, { credits: 100 })
  cookie = await givenSession(db, user)
})

const choose = async (body: Record<string, string>) => {
  const answer = await visit(context.service.url, '/account/new-images', { cookie, body })
  expect(answer).toMatchObject({ status: 303, location: '/account#new-images' })
  const { html } = await visit(context.service.url, '/account', { cookie })
  return /<input id="new-images-private"[^>]* checked/.test(html)
}

/** On the website. */
async function draw(): Promise<string[]> {
  const { db, url } = context.service
  const form = { prompt: 'a lighthouse', model_version_id: `${MODEL.id}`, shape: '256x256', batch_size: '2' }
  await visit(url, '/playground', { cookie, body: form })
  const sql = `SELECT slugs, status FROM generations WHERE user_id = $1 ORDER BY seq DESC LIMIT 1`
  const ended = async () => {
    const [row] = (await db.pool.query(sql, [user.id])).rows
    return row?.status === 'succeeded' && row
  }
  return (await until(ended, 'the end of the generation')).slugs
}

const statusOf = async (slug: string, as?: string) =>
  (await fetch(`${context.service.url}/cdn/${slug}.png`, { headers: as ? { cookie: as } : {} })).status

describe('new images of an account', () => {
  it('are public unless it says otherwise', async () => {
    const { html } = await visit(context.service.url, '/account', { cookie })
    expect(html).toMatch(/<input id="new-images-private"(?![^>]* checked)/)
    for (const slug of await draw()) expect(await statusOf(slug)).toBe(200)
  })

  it('are private from the start once it says so, if they come from the website, and of nobody else', async () => {
    const { service } = context
    expect(await choose({ private: '1' })).toBe(true)
    const slugs = await draw()
    for (const slug of slugs) expect([await statusOf(slug), await statusOf(slug, cookie)]).toEqual([404, 200])
    const { publicFiles, privateFiles } = wholeImageStore(service.config, service.db)
    for (const slug of slugs) {
      await until(async () => !(await publicFiles.exists(slug)), 'the end of the move')
      expect(await privateFiles.exists(slug)).toBe(true)
    }
    const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
    for (const { key } of [user, await givenUser(service.db)]) {
      const answer = await call(service.url, 'POST', '/v1/images/generate', { key, body })
      expect(await statusOf(answer.body.data.image_id)).toBe(200)
    }
  })

  it('are public again once it says so', async () => {
    expect(await choose({})).toBe(false)
    for (const slug of await draw()) expect(await statusOf(slug)).toBe(200)
  })
})
