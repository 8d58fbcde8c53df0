import { beforeAll, describe, expect, it } from 'vitest'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { operatorActionStore } from '../../../src/db/operator/operator-actions.js'
import { pauseStore } from '../../../src/db/operator/pauses.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { chargesOf, creditsOf, type GivenUser, givenGeneration, givenUser, MODEL, rowOf } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration, standInWorker } from '../../support/stand-in-worker.js'
import { textOf, visit } from '../../support/website-client.js'
import { givenBackend, HOSTILE, OPERATOR_PAGES, workerClaims } from './given-console.js'

const context = useService()
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

const givenFailed = (user: GivenUser) => givenEndedGeneration(context.service.db, user, {}, 'fail')

/** Pages of a server that has not looked yet: what one shows of the queue may be some seconds old. */
async function freshServer() {
  const { url } = await context.service.server()
  return async (path: string) => (await visit(url, path, { cookie })).html
}

/** The rows of a table, as text. */
const rowsIn = (html: string, caption: string): string[] => {
  const [table = ''] = new RegExp(`<caption>${caption}</caption>.*?</table>`, 's').exec(html) ?? []
  return table
    .split(/<tr(?: [^>]*)?>/)
    .slice(2)
    .map(textOf)
}

describe('the console', () => {
  it('does not exist for a subscriber, for whom nothing is done', async () => {
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
      ['/operator/models/workflow', { action: 'check', workflow: '{}' }],
      ['/operator/models/import', { models: '[]', reason }],
      [`/operator/models/${MODEL.id}/move`, { by: 'up' }],
      [`/operator/models/${MODEL.id}/cover`, { image: 'x', reason }],
      [`/operator/models/${MODEL.id}/cover-remove`, { reason }],
      ['/operator/plans', { name: 'Theirs', credits: '5', reason }],
      ['/operator/plans/retire', { name: 'Theirs', reason }],
    ]
    for (const path of [...OPERATOR_PAGES, '/operator/live', `/operator/generations/${id}`])
      expect((await send('GET', path, undefined, subscriber)).status).toBe(404)
    for (const [path, body] of posts) expect((await send('POST', path, body, subscriber)).status).toBe(404)
    expect((await send('GET', '/operator', undefined, '')).location).toBe('/sign-in?next=%2Foperator')
    expect(await pauseStore(db).list()).toEqual([])
    expect((await rowOf(db, { id })).status).toBe('queued')
    await send('POST', `/operator/generations/${id}/cancel`, { reason })
  })
})

describe('a generation', () => {
  it('is canceled once, with its refund and with the reason in the log', async () => {
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
    expect((await send('POST', `${path}/cancel`, { reason: 'asked to' })).html).toContain(
      'only a queued or processing one can be canceled',
    )
    expect(await actions(id)).toEqual([[operator.username, 'canceled generation', 'asked to']])
  })

  it('that failed is run again as the same request, charged anew, but not while another one is active', async () => {
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
    const asked = [operator.username, 'asked to run it again', 'our fault']
    expect(await actions(failed.id)).toEqual([asked, [operator.username, `ran again as ${id}`, 'our fault'], asked])
    await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })

  it('that has not failed, or whose key was revoked, is not run again', async () => {
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
  it('is shown with its file, its price and the live backends that serve it', async () => {
    await givenBackend(context.service.db)
    const look = await freshServer()
    const rows = rowsIn(await look('/operator/models'), 'Model versions')
    expect(rows.find((row) => row.includes(MODEL.filename))).toMatch(/on1a1111\+http:\/\/gpu/)
    expect(rows.filter((row) => row.includes('no backend has this file'))).toHaveLength(rows.length - 1)
    const page = await look(`/operator/models/${MODEL.id}`)
    expect(page).toContain(MODEL.filename)
    expect(page).toMatch(/<input id="price"[^>]* value="1"/)
    expect((await send('GET', '/operator/models/987')).status).toBe(404)
  })

  it('gets another price or is disabled, and the log has only what changed', async () => {
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

describe('the overview', () => {
  it('shows what waits, what runs, what failed and the backends, with hostile names as text', async () => {
    const { db } = context.service
    await givenBackend(db)
    await givenFailed(await givenUser(db))
    const user = await givenUser(db)
    const running = await givenGeneration(db, user)
    await standInWorker(db).claim()
    const waiting = await givenGeneration(db, await givenUser(db))
    const look = await freshServer()
    for (const path of ['/operator', '/operator/live']) {
      const html = await look(path)
      expect(rowsIn(html, 'Queue')).toEqual([expect.stringMatching(`^Personal API${MODEL.filename}1`)])
      expect(rowsIn(html, 'Running')).toEqual([expect.stringContaining(`${user.username}${MODEL.filename}stand-in:`)])
      expect(html).toContain(`href="/operator/generations/${running.id}"`)
      expect(rowsIn(html, 'Backends')).toEqual([expect.stringContaining(`a1111+http://gpu${HOSTILE}up${HOSTILE}1`)])
      expect(html).toContain('The model broke.')
      expect(html).not.toContain('<img')
    }
    for (const { id } of [running, waiting])
      await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })
})

describe('the backends of the overview', () => {
  const announce = (worker: string, up: boolean, error?: string) =>
    backendRegistry(context.service.db).announce(
      worker,
      `a1111+http://${worker}`,
      up,
      { models: ['a'], samplers: [], maxSeed: 1, sizeMultiple: 8 },
      { loaded: undefined, error },
    )
  const age = (worker: string, columns: string) =>
    context.service.db.pool.query(`UPDATE backends SET ${columns} WHERE worker = $1`, [worker])

  it('show an error as what is now only of one that is down, and workers that are silent apart', async () => {
    await context.service.db.pool.query('DELETE FROM backends')
    await announce('well', true, 'It did not answer.')
    await age('well', `error_at = now() - interval '3 hours', seen_at = now() + interval '1 hour'`)
    await announce('ill', false, 'Connection refused.')
    await age('ill', `error_at = now() - interval '5 minutes', seen_at = now() + interval '1 hour'`)
    await announce('gone', true, 'An old error.')
    await age('gone', `seen_at = now() - interval '8 minutes'`)
    const html = await (await freshServer())('/operator')
    expect(rowsIn(html, 'Backends')).toEqual([
      expect.stringMatching(/^a1111\+http:\/\/illilldown.*Connection refused\.for 5 min/),
      expect.stringMatching(/^a1111\+http:\/\/wellwellup.*over, from 3 h.* ago: It did not answer\./),
    ])
    expect(rowsIn(html, 'Workers that are silent')).toEqual([
      expect.stringMatching(/^a1111\+http:\/\/gonegone8 min.* ago/),
    ])
    expect(html).not.toContain('An old error.')
    await context.service.db.pool.query(`DELETE FROM backends WHERE worker <> 'gone'`)
    const later = textOf(await (await freshServer())('/operator'))
    expect(later).toContain('No worker reports a backend now: start one.')
    await context.service.db.pool.query('DELETE FROM backends')
    expect(textOf(await (await freshServer())('/operator'))).toContain('No worker has reported a backend: start one.')
  })
})

describe('pausing', () => {
  it('keeps workers from a model until it is resumed, and shows the reason', async () => {
    const { db } = context.service
    const { id } = await givenGeneration(db, await givenUser(db))
    const what = `model ${MODEL.filename}`
    expect((await send('POST', '/operator/pause', { what, reason: 'it draws in green' })).location).toBe('/operator')
    const look = await freshServer()
    const paused = await look('/operator/live')
    expect(textOf(paused)).toContain(`Paused${MODEL.filename}it draws in green`)
    expect(rowsIn(paused, 'Queue')).toEqual([expect.stringMatching(/paused$/)])
    expect(await workerClaims(db)).toBe(false)
    expect((await send('POST', '/operator/resume', { what, reason: 'mended' })).location).toBe('/operator')
    expect(await pauseStore(db).list()).toEqual([])
    expect(rowsIn(await look('/operator/live'), 'Queue')).toEqual([expect.not.stringContaining('paused')])
    expect(await workerClaims(db)).toBe(true)
    await send('POST', `/operator/generations/${id}/cancel`, { reason: 'the end' })
  })

  it('is refused in words without a reason, for an unknown model or backend, and for what is paused already', async () => {
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

describe('the operators’ log', () => {
  it('shows the newest act first, and older ones page by page', async () => {
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
