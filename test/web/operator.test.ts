import { beforeAll, describe, expect, it } from 'vitest'
import { backendRegistry } from '../../src/db/backend-store.js'
import { operatorActionStore } from '../../src/db/operator-action-store.js'
import { pauseStore } from '../../src/db/pause-store.js'
import { runStore } from '../../src/db/run-store.js'
import { SAMPLERS } from '../../src/generation/sampler.js'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { givenOperator } from '../support/given-sign-in.js'
import { chargesOf, creditsOf, type GivenUser, givenGeneration, givenUser, MODEL, rowOf } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'
import { visit } from '../support/website-client.js'

const context = useService()
const browser = useBrowser()
const HOSTILE = '<img src=x onerror=alert(1)>\u202e gpu'
const PAGES = ['/operator', '/operator/models', `/operator/models/${MODEL.id}`, '/operator/log']
let operator: Awaited<ReturnType<typeof givenOperator>>
let cookie: string

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
  cookie = operator.cookie
})

const send = (method: string, path: string, body?: Record<string, string>, as = cookie) =>
  visit(context.service.url, path, { body, cookie: as }, method)

const actions = async (target: string) =>
  (await operatorActionStore(context.service.db).list({ limit: 100, after: undefined })).items
    .filter((it) => it.target === target)
    .map(({ actor, action, reason }) => [actor, action, reason])

async function givenFailed(user: GivenUser) {
  const generation = await givenGeneration(context.service.db, user)
  const worker = standInWorker(context.service.db)
  await worker.fail(await worker.claim(), 'The GPU ran out of memory.')
  return generation
}

describe('for who is no operator', () => {
  it('none of the console exists, and nothing is done', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const subscriber = await givenSession(db, user)
    const { id } = await givenGeneration(db, user)
    const reason = 'because'
    const posts: [string, Record<string, string>][] = [
      ['/operator/pause', { what: 'all', reason }],
      ['/operator/resume', { what: 'all', reason }],
      [`/operator/generations/${id}/cancel`, { reason }],
      [`/operator/generations/${id}/run-again`, { reason }],
      [`/operator/models/${MODEL.id}`, { reason, price: '9', enabled: 'no' }],
    ]
    for (const path of [...PAGES, '/operator/live', `/operator/generations/${id}`])
      expect((await send('GET', path, undefined, subscriber)).status).toBe(404)
    for (const [path, body] of posts) expect((await send('POST', path, body, subscriber)).status).toBe(404)
    expect((await send('GET', '/operator', undefined, '')).location).toBe('/sign-in?next=%2Foperator')
    expect(await pauseStore(db).list()).toEqual([])
    expect((await rowOf(db, { id })).status).toBe('queued')
    await send('POST', `/operator/generations/${id}/cancel`, { reason })
  })
})

describe('a generation', () => {
  it('is canceled with its refund and the reason on record, and a second time refused', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const { id } = await givenGeneration(db, user)
    const path = `/operator/generations/${id}`
    expect((await send('POST', `${path}/cancel`, { reason: ' ' })).status).toBe(400)
    expect((await send('POST', `${path}/cancel`, { reason: 'asked to' })).location).toBe(path)
    expect(await chargesOf(db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
    expect((await send('POST', `${path}/cancel`, { reason: 'asked to' })).html).toContain('nothing to cancel')
    expect(await actions(id)).toEqual([[operator.username, 'canceled generation', 'asked to']])
  })

  it('that failed is run again: the same request, charged anew; never while another one is active', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 5 })
    const failed = await givenFailed(user)
    const { location } = await send('POST', `/operator/generations/${failed.id}/run-again`, { reason: 'our fault' })
    const id = location?.split('/').at(-1) as string
    expect(id).not.toBe(failed.id)
    const { prompt, seed, filename, lane } = failed
    expect(await rowOf(db, { id })).toMatchObject({ status: 'queued', user_id: user.id, prompt, seed, filename, lane })
    expect(await creditsOf(db, user)).toBe(4)
    const again = await send('POST', `/operator/generations/${failed.id}/run-again`, { reason: 'our fault' })
    expect([again.status, again.html]).toEqual([400, expect.stringContaining('can not be run again')])
    expect(await actions(failed.id)).toEqual([[operator.username, `ran again as ${id}`, 'our fault']])
    await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })

  it('of a revoked key is not run again, and neither is one that has not failed', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const failed = await givenFailed(user)
    const runAgain = (id: string) => send('POST', `/operator/generations/${id}/run-again`, { reason: 'why not' })
    await db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [user.keyId])
    expect((await runAgain(failed.id)).html).toContain('its key was revoked')
    const { id } = await givenGeneration(db, await givenUser(db))
    expect((await runAgain(id)).html).toContain('this one is queued')
    expect((await runAgain('gen_nothing')).status).toBe(404)
    await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })
})

describe('a model version', () => {
  it('is turned off and gets a price, and only what changed is recorded', async () => {
    const path = `/operator/models/${MODEL.id}`
    expect((await send('POST', path, { reason: 'dearer', price: '3', enabled: 'yes' })).location).toBe(
      '/operator/models',
    )
    await send('POST', path, { reason: 'broken', price: '3', enabled: 'no' })
    await send('POST', path, { reason: 'as before', price: '1', enabled: 'yes' })
    for (const price of ['-1', '1.5', '', '1000001', 'x'])
      expect((await send('POST', path, { reason: 'x', price, enabled: 'yes' })).status).toBe(400)
    expect((await send('POST', '/operator/models/987', { reason: 'x', price: '1', enabled: 'yes' })).status).toBe(404)
    const { username } = operator
    expect((await actions(`${MODEL.id}`)).reverse()).toEqual([
      [username, 'set the price to 3 of model version', 'dearer'],
      [username, 'disabled model version', 'broken'],
      [username, 'set the price to 1 of model version', 'as before'],
      [username, 'enabled model version', 'as before'],
    ])
  })
})

describe('pausing', () => {
  it('names what is wrong: no reason, a model or backend that nobody knows, what is paused already', async () => {
    const pause = async (what: string, reason = 'because') =>
      (await send('POST', '/operator/pause', { what, reason })).html
    expect(await pause('all', '')).toContain('Say why')
    expect(await pause('everything')).toContain('Choose what to pause')
    expect(await pause('model no.safetensors')).toContain('No model version has the file')
    expect(await pause('backend nobody')).toContain('No worker reports a backend')
    await pause(`model ${MODEL.filename}`)
    expect(await pause(`model ${MODEL.filename}`)).toContain('is paused already')
    await send('POST', '/operator/resume', { what: `model ${MODEL.filename}` })
    expect((await send('POST', '/operator/resume', { what: 'all' })).html).toContain('nothing to resume')
  })
})

describe('the log', () => {
  it('goes back to the first act, newest first', async () => {
    const store = operatorActionStore(context.service.db)
    for (let n = 0; n < 60; n++)
      await store.record({ actor: 'alice', action: `counted to ${n}.`, target: HOSTILE, reason: HOSTILE })
    const first = await send('GET', '/operator/log')
    expect(first.html).toContain('counted to 59.')
    expect(first.html).not.toContain('counted to 9.')
    expect(first.html).not.toContain('<img src=x')
    const older = /href="(\/operator\/log\?before=\d+)"/.exec(first.html)?.[1] as string
    expect((await send('GET', older)).html).toContain('counted to 9.')
  })
})

describeInBrowser('the console in a browser', () => {
  const announce = () =>
    backendRegistry(context.service.db).announce(
      HOSTILE,
      'a1111+http://gpu',
      true,
      { models: [MODEL.filename], samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 },
      { loaded: HOSTILE, error: HOSTILE },
    )

  it('shows what waits, pauses a model and resumes it, by keyboard', async () => {
    const { db, url } = context.service
    await announce()
    const { id } = await givenGeneration(db, await givenUser(db))
    const { page } = await browser.open(url, cookie)
    await page.goto('/operator')
    const queue = page.getByRole('table', { name: 'Queue' })
    await queue.getByText(MODEL.filename).waitFor()
    await page.getByRole('table', { name: 'Backends' }).getByText('a1111+http://gpu').waitFor()
    await queue.getByRole('link', { name: `Pause… ${MODEL.filename}` }).press('Enter')
    await page.waitForURL('**/operator?what=*')
    await page.getByLabel('Reason').focus()
    await page.keyboard.type('it draws in green')
    await page.keyboard.press('Enter')
    await page.getByText('it draws in green').waitFor()
    expect(await standInClaims(db)).toBe(false)
    await queue.getByText('paused').waitFor()
    await page.getByRole('button', { name: 'Resume' }).press('Enter')
    await page.getByRole('heading', { name: 'Paused' }).waitFor({ state: 'detached' })
    expect(await pauseStore(db).list()).toEqual([])
    await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })

  it('refreshes itself without taking the focus or what is being typed', async () => {
    const { db, url } = context.service
    await pauseStore(db).pause({ scope: 'all', target: '' }, { actor: 'alice', reason: 'new GPUs' })
    const { page } = await browser.open(url, cookie)
    await page.goto('/operator')
    const why = page.getByLabel('Why resume everything')
    await why.fill('they are')
    await page.getByLabel('Reason').fill('half a sen')
    await why.focus()
    const { id } = await givenGeneration(db, await givenUser(db))
    await page.getByRole('table', { name: 'Queue' }).getByText(MODEL.filename).waitFor()
    await page.keyboard.press('End')
    await page.keyboard.type(' built in')
    expect(await why.inputValue()).toBe('they are built in')
    expect(await page.getByLabel('Reason').inputValue()).toBe('half a sen')
    await page.keyboard.press('Enter')
    await until(async () => (await pauseStore(db).list()).length === 0, 'the end of the pause')
    await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })

  it('is accessible in light and dark, fits a phone, and believes no name', async () => {
    const { db, url } = context.service
    await announce()
    await pauseStore(db).pause({ scope: 'backend', target: 'a1111+http://gpu' }, { actor: 'alice', reason: HOSTILE })
    const failed = await givenFailed(await givenUser(db))
    const { page, violations, scrollsSideways } = await browser.open(url, cookie)
    for (const path of [...PAGES, `/operator/generations/${failed.id}`]) {
      await page.setViewportSize({ width: 1280, height: 850 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.goto(path)
        expect(await violations(), path).toEqual([])
      }
      await page.setViewportSize({ width: 390, height: 800 })
      expect(await scrollsSideways(), path).toBe(false)
      expect(await page.locator('img').count()).toBe(0)
    }
  })
})

/** Whether a worker that can do anything finds something now. */
async function standInClaims(db: typeof context.service.db): Promise<boolean> {
  const serves = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
  return (await runStore(db, { refundFailed: true }).claim({ worker: 'w', backend: 'b' }, serves)) !== undefined
}
