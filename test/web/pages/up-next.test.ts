import { beforeEach, describe, expect, it } from 'vitest'
import { MAX_IDEAS } from '../../../src/core/up-next/up-next.js'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { creditsOf, type GivenUser, MODEL, type UserOptions } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'
import { activeOf, endAll, HOSTILE, signedIn as signedInTo } from './given-playground.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const worker = () => standInWorker(context.service.db)
const signedIn = (options?: UserOptions) => signedInTo(context.service, options)
const listOf = ({ id }: GivenUser) => upNextStore(context.service.db).of(id)
const promptsOf = async (user: GivenUser) => (await listOf(user)).ideas.map(({ body }) => body.prompt)

beforeEach(async () => {
  await context.service.db.pool.query('DELETE FROM up_next')
  await endAll(context.service)
})

const send = (cookie: string, method: string, path: string, body?: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { body, cookie }, method)
const sendInPlace = (cookie: string, path: string, body?: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { body, cookie, headers: { 'hx-request': 'true' } })

/** As the form sends it. */
const FORM = { prompt: 'a lighthouse', model_version_id: `${MODEL.id}`, shape: '1024x1024', batch_size: '2', seed: '7' }
const LATER = { ...FORM, to: 'up-next' }

describe('Up next', () => {
  it('takes what comes while one is drawn, and draws it afterwards, without scripts and with nobody there', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', { ...FORM, to: 'now' })
    expect((await send(cookie, 'GET', '/playground')).html).toContain('value="up-next"')
    // A page that is loaded anew would take away what is being typed.
    const still = (await send(cookie, 'GET', '/playground?write=1')).html
    expect(still).toContain('value="up-next"')
    expect(still).not.toContain('http-equiv="refresh"')
    const added = await send(cookie, 'POST', '/playground', { ...LATER, prompt: HOSTILE, steps: '20' })
    expect([added.status, added.location]).toEqual([303, '/playground#up-next'])
    expect(await creditsOf(context.service.db, user)).toBe(98)
    const { html } = await send(cookie, 'GET', '/playground')
    expect(html).not.toContain('<script>alert')
    expect(textOf(html)).toContain('1024×1024 · 2 images · 2 credits')
    expect(textOf(html)).toContain('1 idea. The first one begins when the one above has ended')
    await worker().succeed(await worker().claim())
    await until(() => activeOf(context.service, user), 'the next one')
    expect(await activeOf(context.service, user)).toMatchObject({ steps: 20, batch_size: 2, seed: 7, lane: 'personal' })
    expect(await creditsOf(context.service.db, user)).toBe(96)
    expect(await promptsOf(user)).toEqual([])
  })

  it('shows in place what was added, and that the next one has begun', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', FORM)
    const { html } = await sendInPlace(cookie, '/playground', LATER)
    expect(html).toContain('hx-target="#up-next"')
    expect(html).not.toContain('hx-target="#stage"')
    const first = await activeOf(context.service, user)
    await worker().succeed(await worker().claim())
    const next = await until(async () => {
      const active = await activeOf(context.service, user)
      return active && active.id !== first.id && active
    }, 'the next one')
    const changes = (await sendInPlace(cookie, '/playground/up-next')).html
    expect(changes).toContain(`/playground/${next.id}/events`)
    expect(changes).not.toContain('a lighthouse</p>')
    // Without scripts it is the page.
    expect((await send(cookie, 'GET', '/playground/up-next')).location).toBe('/playground')
  })

  it('is shown to its end also where the last idea begins, or is drawn, before the page looks again', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', FORM)
    await send(cookie, 'POST', '/playground', { ...LATER, prompt: 'the last one' })
    const first = await activeOf(context.service, user)
    await worker().succeed(await worker().claim())
    const next = await until(async () => {
      const active = await activeOf(context.service, user)
      return active?.prompt === 'the last one' && active
    }, 'the last one')
    const events = `/playground/${first.id}/events`
    expect((await send(cookie, 'GET', events)).html).toContain(`/playground/${next.id}/events`)
    await worker().succeed(await worker().claim())
    for (const path of [events, '/playground/up-next']) {
      const { html } = await sendInPlace(cookie, path)
      const [, stage = '', strip = ''] = html.split('hx-target="#')
      expect(stage).toMatch(/^stage.*alt="the last one"/s)
      expect(strip.match(/alt="the last one"/g)).toHaveLength(2)
    }
  })

  it('is put into order, paused, gone on with and cleared', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground/up-next', { do: 'pause' })
    for (const prompt of ['one', 'two', 'three']) await send(cookie, 'POST', '/playground', { ...LATER, prompt })
    const page = (await send(cookie, 'GET', '/playground')).html
    expect(textOf(page)).toContain('3 ideas. Paused: press Go on to have the first one drawn.')
    // What is drawn now does not wait for them.
    expect(page).toContain('id="line-up"')
    const [, , three] = (await listOf(user)).ideas
    const moved = await send(cookie, 'POST', `/playground/up-next/${three?.id}`, { do: 'up' })
    expect([moved.status, moved.location]).toEqual([303, '/playground#up-next'])
    expect(await promptsOf(user)).toEqual(['one', 'three', 'two'])
    const { html } = await sendInPlace(cookie, `/playground/up-next/${three?.id}`, { do: 'remove' })
    expect(textOf(html)).toContain('2 ideas.')
    expect(await activeOf(context.service, user)).toBeUndefined()
    await send(cookie, 'POST', '/playground/up-next', { do: 'go-on' })
    await until(async () => (await activeOf(context.service, user))?.prompt === 'one', 'the first one')
    await send(cookie, 'POST', '/playground/up-next', { do: 'clear' })
    expect(await promptsOf(user)).toEqual([])
  })

  it('fills the form with an idea, and keeps what was changed at its place', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground/up-next', { do: 'pause' })
    for (const prompt of ['one', 'two']) await send(cookie, 'POST', '/playground', { ...LATER, prompt, steps: '12' })
    const [one] = (await listOf(user)).ideas
    const { html } = await send(cookie, 'GET', `/playground?idea=${one?.id}`)
    for (const part of ['one</textarea>', 'value="12"', `name="idea" value="${one?.id}"`, 'Save in Up next'])
      expect(html).toContain(part)
    const wrong = await send(cookie, 'POST', '/playground', {
      ...LATER,
      prompt: 'changed',
      steps: '0',
      idea: `${one?.id}`,
    })
    expect(wrong.html).toContain('changed</textarea>')
    expect(wrong.html).toContain(`name="idea" value="${one?.id}"`)
    const saved = await send(cookie, 'POST', '/playground', { ...LATER, prompt: 'changed', idea: `${one?.id}` })
    expect(saved.location).toBe('/playground#up-next')
    expect(await promptsOf(user)).toEqual(['changed', 'two'])
    // Meanwhile it is another one: nothing that was typed is lost.
    const gone = await send(cookie, 'POST', '/playground', { ...LATER, prompt: 'late words', idea: `${one?.id}` })
    expect(gone.html).toContain('This idea is not in Up next any more')
    expect(gone.html).toContain('late words</textarea>')
    expect(gone.html).not.toContain('name="idea"')
    expect((await send(cookie, 'GET', `/playground?idea=${one?.id}`)).html).toContain('not in Up next any more')
    expect((await send(cookie, 'GET', '/playground?idea=x')).status).toBe(200)
  })

  it('says beside an idea why it was refused, and what to do', async () => {
    const { cookie } = await signedIn({ credits: 1 })
    await send(cookie, 'POST', '/playground', { ...LATER, batch_size: '4' })
    const text = await until(async () => {
      const html = textOf((await send(cookie, 'GET', '/playground')).html)
      return html.includes('Insufficient credits') && html
    }, 'the refusal')
    expect(text).toContain('this generation needs 4 and the account holds 1')
    expect(text).toContain('Paused, because one was refused. Edit or remove it, then press Go on.')
  })

  it('leaves the API’s single active generation as it was', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', LATER)
    await until(() => activeOf(context.service, user), 'the first one')
    const answer = await fetch(`${context.service.url}/api/v1/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'mine', model_version_id: MODEL.id }),
    })
    expect(answer.status).toBe(429)
    expect(await promptsOf(user)).toEqual([])
  })

  it('is not touched by anybody else', async () => {
    const { user, cookie } = await signedIn()
    const stranger = await signedIn()
    await send(cookie, 'POST', '/playground/up-next', { do: 'pause' })
    await send(cookie, 'POST', '/playground', { ...LATER, prompt: 'secret' })
    const [idea] = (await listOf(user)).ideas
    await send(stranger.cookie, 'POST', `/playground/up-next/${idea?.id}`, { do: 'remove' })
    await send(stranger.cookie, 'POST', '/playground', { ...LATER, prompt: 'theirs', idea: `${idea?.id}` })
    expect((await send(stranger.cookie, 'GET', `/playground?idea=${idea?.id}`)).html).not.toContain('secret')
    expect(await promptsOf(user)).toEqual(['secret'])
  })

  it('stays light with as many ideas as there may be, however long they are', async () => {
    const { user, cookie } = await signedIn()
    const store = upNextStore(context.service.db)
    await store.pause(user.id)
    for (let n = 0; n < MAX_IDEAS; n++)
      await store.add(user.id, { prompt: `${n} ${'x'.repeat(1900)}`, model_version_id: 1 })
    const { html } = await send(cookie, 'GET', '/playground')
    expect(textOf(html)).toContain('49 xxx')
    expect(html.length).toBeLessThan(100_000)
    const full = await sendInPlace(cookie, '/playground', LATER)
    expect([full.status, textOf(full.html)]).toEqual([400, expect.stringContaining('Up next holds 50 ideas')])
  })

  it('refuses what makes no sense', async () => {
    const { cookie } = await signedIn()
    expect((await send(cookie, 'POST', '/playground/up-next', { do: 'dance' })).status).toBe(400)
    expect((await send(cookie, 'POST', '/playground/up-next/x', { do: 'up' })).status).toBe(400)
    const empty = await send(cookie, 'POST', '/playground', { ...LATER, prompt: ' ' })
    expect(empty.html).toContain('Write a prompt first.')
  })
})
