import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { LACKING } from '../../../src/core/generations/servable.js'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { pauseStore } from '../../../src/db/operator/pauses.js'
import { call } from '../../support/client.js'
import { givenOwnModels, MUTED, modelOf, TURBO } from '../../support/given-models.js'
import { creditsOf, MODEL, type UserOptions } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration, standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'
import { activeOf, boardsOf, endAll, HOSTILE, signedIn as signedInTo } from './given-playground.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const worker = () => standInWorker(context.service.db)
const signedIn = (options?: UserOptions) => signedInTo(context.service, options)

beforeEach(() => endAll(context.service))

const send = (cookie: string, method: string, path: string, body?: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { body, cookie }, method)
/** As the page's script sends the form: the answer is what changes on the page. */
const sendInPlace = (cookie: string, path: string, body: Readonly<Record<string, string>> = {}) =>
  visit(context.service.url, path, { body, cookie, headers: { 'hx-request': 'true' } }, 'POST')

/** As the form sends it. */
const FORM = { prompt: 'a lighthouse', model_version_id: `${MODEL.id}`, shape: '1024x1024', batch_size: '2', seed: '7' }

/** The stream of a generation's fragments: what has come of it so far. */
async function openStream(cookie: string, id: string) {
  const gone = new AbortController()
  onTestFinished(() => gone.abort())
  const { signal } = gone
  const answer = await fetch(`${context.service.url}/playground/${id}/events`, { headers: { cookie }, signal })
  const stream = { text: '', ended: false }
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const part of answer.body as never as AsyncIterable<Uint8Array>)
      stream.text += decoder.decode(part, { stream: true })
    stream.ended = true
  }
  read().catch(() => undefined) // the test is over
  return {
    type: answer.headers.get('content-type'),
    text: () => stream.text,
    seen: (part: string) => until(() => stream.text.includes(part), `“${part}” in the stream`),
    ended: () => until(() => stream.ended, 'the end of the stream'),
  }
}

describe('a generation of the playground', () => {
  it('is shown on the page and in its stream while it waits, is drawn, and ends', async () => {
    const { user, cookie } = await signedIn()
    expect((await sendInPlace(cookie, '/playground', { ...FORM, prompt: HOSTILE })).html).toContain('Add to Up next')
    const { id } = await activeOf(context.service, user)
    const page = await send(cookie, 'GET', '/playground')
    expect(page.html).toContain('First in the queue')
    expect(page.html).toContain(`hx-sse:connect="/playground/${id}/events"`)
    expect(page.html).not.toContain('<script>alert')
    const stream = await openStream(cookie, id)
    expect(stream.type).toBe('text/event-stream')
    await stream.seen('First in the queue')

    const claimed = await worker().claim()
    await stream.seen('Drawing…')
    const { progress, previews } = await boardsOf(context.service)
    await progress.set(claimed.id, claimed.attempt, 0.4)
    await stream.seen('value="0.4"')
    await previews.set(claimed.id, claimed.attempt, Buffer.from('a preview'))
    await stream.seen(`src="data:image/webp;base64,${btoa('a preview')}"`)
    await worker().succeed(claimed)
    await stream.seen('event: close')
    await stream.ended()

    const [slug] = claimed.slugs
    const { html } = await send(cookie, 'GET', '/playground')
    for (const part of [
      `href="/image/${slug}"`,
      `href="/playground?from=${slug}"`,
      `download="${slug}.png"`,
      `data-seed="${claimed.seed}"`,
      '<b>98</b> credits',
    ])
      expect(html).toContain(part)
  })

  it('is neither shown to nor canceled by anybody else', async () => {
    const { user, cookie } = await signedIn()
    const stranger = await signedIn()
    await send(cookie, 'POST', '/playground', { ...FORM, prompt: HOSTILE })
    const { id } = await activeOf(context.service, user)
    expect((await send(stranger.cookie, 'GET', '/playground')).html).not.toContain('dlrow')
    expect((await send(stranger.cookie, 'GET', `/playground/${id}/events`)).status).toBe(404)
    expect((await send(stranger.cookie, 'POST', `/playground/${id}/cancel`)).status).toBe(404)
    expect(await activeOf(context.service, user)).toMatchObject({ id })
  })

  it('says in words why it failed', async () => {
    const { cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', FORM)
    await worker().fail(await worker().claim(), LACKING.sampler.replace('%', 'dpmpp_2m_karras'))
    const { html } = await send(cookie, 'GET', '/playground')
    expect(textOf(html)).toContain('The sampler "DPM++ 2M Karras" is not available on the GPU servers.')
  })

  it('is canceled with its credits given back', async () => {
    const { user, cookie } = await signedIn({ credits: 5 })
    await send(cookie, 'POST', '/playground', { ...FORM, batch_size: '3' })
    expect((await send(cookie, 'GET', '/playground')).html).toContain('<b>2</b> credits')
    const { id } = await activeOf(context.service, user)
    const changes = textOf((await sendInPlace(cookie, `/playground/${id}/cancel`)).html)
    expect(changes).toContain('Canceled')
    expect(changes).toContain('3 credits were given back to you.')
    expect(changes).toContain('5 credits')
    expect(await creditsOf(context.service.db, user)).toBe(5)
  })

  it('is no longer followed by a session that has ended', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', FORM)
    const stream = await openStream(cookie, (await activeOf(context.service, user)).id)
    await stream.seen('First in the queue')
    await sessionStore(context.service.db).endAll(user.id)
    await stream.seen('event: signed-out')
    await stream.ended()
    expect((await send(cookie, 'GET', '/playground')).location).toBe('/sign-in?next=%2Fplayground')
  })
})

describe('while nothing can start', () => {
  const serves = { models: null, samplers: [...SAMPLERS], maxSeed: 4294967295, sizeMultiple: 8 }
  const announce = (name: string, models: readonly string[] | null) =>
    backendRegistry(context.service.db).announce('worker', name, true, { ...serves, models })
  const resume = () => pauseStore(context.service.db).resume({ scope: 'all', target: '' }, BY)
  const BY = { actor: 'the operator', reason: 'a test' }
  beforeEach(async () => {
    onTestFinished(async () => {
      await resume()
      await context.service.db.pool.query('DELETE FROM backends')
    })
  })

  it('the stage says why and what it means in place of a time, and changes with it', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, 'POST', '/playground', FORM)
    const { id } = await activeOf(context.service, user)
    const text = async () => textOf((await send(cookie, 'GET', '/playground')).html)
    await until(async () => (await text()).includes('First in the queue, on hold'), 'the hold')
    expect(await text()).toMatch(
      /No GPU server is running at the moment. Your image keeps its place .* If it can’t be drawn by .* at the latest, it fails and you get your credits back\./,
    )
    const stream = await openStream(cookie, id)
    await stream.seen('No GPU server is running')
    await announce('a', ['other.safetensors'])
    await stream.seen('No GPU server that is running has this model')
    expect(stream.text()).not.toContain('<progress')
    await announce('b', null)
    await stream.seen('<progress')
    await pauseStore(context.service.db).pause({ scope: 'all', target: '' }, BY)
    await stream.seen('The operator has paused drawing for now.')
  })

  it('the page says so before anything is submitted, and no longer once it can', async () => {
    const { cookie } = await signedIn()
    const { html } = await send(cookie, 'GET', `/playground?model=${MODEL.id}`)
    expect(textOf(html)).toContain('You can generate all the same: your image waits')
    const part = async () => (await send(cookie, 'GET', `/playground/hold?model_version_id=${MODEL.id}`)).html
    await announce('b', [MODEL.filename])
    await until(async () => (await part()) === '', 'the warning to go')
    await pauseStore(context.service.db).pause({ scope: 'all', target: '' }, BY)
    await until(async () => (await part()).includes('The operator has paused drawing for now.'), 'the pause')
    expect((await send(cookie, 'GET', '/playground/hold?model_version_id=x')).html).toBe('')
  })
})

describe('the form of the playground', () => {
  it('is filled from an image of the account: without its seed, or with it', async () => {
    const { user, cookie } = await signedIn()
    const asked = { prompt: 'a "quoted" fox', negativePrompt: 'fog', width: 640, height: 896, steps: 44, seed: 1234567 }
    const [slug] = (await givenEndedGeneration(context.service.db, user, asked)).slugs
    const filled = async (query: string, as = cookie) => (await send(as, 'GET', `/playground?${query}`)).html
    const remix = await filled(`from=${slug}`)
    for (const part of ['a "quoted" fox</textarea>', 'fog</textarea>', 'value="custom" checked', 'value="44"'])
      expect(remix.replaceAll('&quot;', '"')).toContain(part)
    expect(remix).toMatch(/id="seed"[^>]* value min/)
    expect(await filled(`from=${slug}&seed=1`)).toMatch(/id="seed"[^>]* value="1234567"/)
    const stranger = await filled(`from=${slug}&seed=1`, (await signedIn()).cookie)
    expect(stranger).toContain('not among yours')
    expect(stranger).not.toMatch(/quoted|1234567/)
  })

  it('has an example as its prompt until something was drawn', async () => {
    const { cookie } = await signedIn()
    const { html } = await send(cookie, 'GET', '/playground')
    expect(/<textarea id="prompt"[^>]*data-example[^>]*>([^<]+)</.exec(html)?.[1]).toMatch(/./)
  })

  it('says in place why nothing was drawn, about which field, and what to do', async () => {
    const { user, cookie } = await signedIn({ credits: 1 })
    const refusalOf = async (fields: Readonly<Record<string, string>>) =>
      (await sendInPlace(cookie, '/playground', { ...FORM, batch_size: '1', ...fields })).html
    expect(await refusalOf({ batch_size: '2' })).toContain('<a href="/account">See your credits.</a>')
    expect(await refusalOf({ prompt: 'a naked child' })).toMatch(/^<p class="problem"[^>]*>[^<]*flagged by moderation/)
    expect(await refusalOf({ prompt: ' ' })).toContain('<p class="problem" data-field="prompt">Write a prompt first.')
    expect(await activeOf(context.service, user)).toBeUndefined()
  })

  it('says of a prompt that is still being written whether moderation would refuse it', async () => {
    const { cookie } = await signedIn()
    const hintFor = async (prompt: string) =>
      textOf((await sendInPlace(cookie, '/playground/check', { ...FORM, prompt })).html)
    expect(await hintFor('necrophilia')).toMatch(/^Moderation would refuse this prompt: .*Rephrase it/)
    for (const prompt of ['a lighthouse', ' ']) expect(await hintFor(prompt)).toBe('')
  })

  it('keeps nothing of a prompt that is still being written, and counts a submit once, however often its form is sent', async () => {
    const { user, cookie } = await signedIn()
    const asked = [
      { ...FORM, prompt: 'a naked child' },
      { ...FORM, prompt: 'a child', negative_prompt: 'clothes' },
    ]
    const noted = async (): Promise<object[]> =>
      (
        await context.service.db.pool.query(
          'SELECT parameter, prompt FROM refused_prompts WHERE user_id = $1 ORDER BY parameter',
          [user.id],
        )
      ).rows
    for (const form of asked) expect((await sendInPlace(cookie, '/playground/check', form)).html).toBe('')
    // What comes after what was typed is there, and that is not.
    const twice = asked.flatMap((form) => [form, form])
    for (const answer of await Promise.all(twice.map((form) => sendInPlace(cookie, '/playground', form))))
      expect(answer.html).toContain('flagged by moderation')
    for (const form of asked) await send(cookie, 'POST', '/playground', form)
    await sendInPlace(cookie, '/playground', { ...FORM, prompt: 'a naked child, reworded' })
    await until(async () => (await noted()).length >= 3, 'the notes')
    expect(await noted()).toEqual([
      { parameter: 'negative_prompt', prompt: 'clothes' },
      { parameter: 'prompt', prompt: 'a naked child' },
      { parameter: 'prompt', prompt: 'a naked child, reworded' },
    ])
  })

  it('takes none of the checks that programs ask for while somebody types', async () => {
    const { user, cookie } = await signedIn()
    for (let n = 0; n < 31; n++)
      await sendInPlace(cookie, '/playground/check', { ...FORM, prompt: `a lighthouse ${n}` })
    const { status } = await call(context.service.url, 'POST', '/api/v1/moderate', {
      key: user.key,
      body: { prompt: 'a lighthouse' },
    })
    expect(status).toBe(200)
  })

  it('takes a model and a prompt from its address, and says if the model is not on offer', async () => {
    const { cookie } = await signedIn()
    const page = async (query: string) => (await send(cookie, 'GET', `/playground?${query}`)).html
    const given = await page(`model=12&prompt=${encodeURIComponent('<i>fox')}`)
    expect(given).toMatch(/name="model_version_id" value="12" checked/)
    expect(given).toContain('&lt;i>fox</textarea>')
    expect(await page('model=999')).toContain('not on offer any more')
  })

  it('submits, refuses and cancels without scripts', async () => {
    const { user, cookie } = await signedIn()
    const sent = await send(cookie, 'POST', '/playground', { ...FORM, prompt: 'a\r\nb' })
    expect([sent.status, sent.location]).toEqual([303, '/playground'])
    const active = await activeOf(context.service, user)
    expect(active).toMatchObject({ prompt: 'a\nb', width: 1024, batch_size: 2, seed: 7 })
    expect((await send(cookie, 'GET', '/playground')).html).toContain('http-equiv="refresh"')
    const again = await send(cookie, 'POST', '/playground', { ...FORM, prompt: 'kept <words>' })
    expect(again.status).toBe(429)
    const html = again.html
    expect(html).toContain('One generation is running already.')
    expect(html).toContain('kept &lt;words></textarea>')
    expect((await send(cookie, 'POST', `/playground/${active.id}/cancel`)).status).toBe(303)
    expect(await creditsOf(context.service.db, user)).toBe(100)
  })

  it.each([
    ['nine images', { batch_size: '9' }, '>The number of images must be a whole number from 1 to 4.'],
    ['steps that are no number', { steps: 'many' }, '>The number of steps must be a whole number from 1 to 100.'],
    ['a shape that is none', { shape: 'wide' }, '>The width must be a whole number'],
    ['half a seed', { seed: '1.5' }, '>The seed must be a whole number'],
    ['no model', { model_version_id: '' }, '>The model is required.'],
    ['an unknown model', { model_version_id: '4711' }, 'This model is not on offer any more.'],
    ['2001 letters', { prompt: 'x'.repeat(2001) }, '>The prompt must be at most 2000 characters.'],
  ])('says in one sentence what is wrong with %s, and draws nothing', async (_, wrong, sentence) => {
    const { user, cookie } = await signedIn()
    const { status, html } = await send(cookie, 'POST', '/playground', { ...FORM, ...wrong })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(html).toContain(sentence)
    expect(await activeOf(context.service, user)).toBeUndefined()
  })

  it('draws a size of one’s own, keeps it for the next one, and says why another one is refused', async () => {
    const { user, cookie } = await signedIn()
    const custom = { ...FORM, shape: 'custom', width: '1000', height: '600', batch_size: '1' }
    await send(cookie, 'POST', '/playground', custom)
    expect(await activeOf(context.service, user)).toMatchObject({ width: 1000, height: 600 })
    await endAll(context.service)
    const again = (await send(cookie, 'GET', '/playground')).html
    for (const part of ['value="custom" checked', 'value="1000"', 'value="600"']) expect(again).toContain(part)
    // A blank side is the model's own, and what stands in the fields counts for a custom size only.
    await send(cookie, 'POST', '/playground', { ...custom, height: '' })
    expect(await activeOf(context.service, user)).toMatchObject({ width: 1000, height: 1216 })
    await endAll(context.service)
    await send(cookie, 'POST', '/playground', { ...custom, shape: '1024x1024' })
    expect(await activeOf(context.service, user)).toMatchObject({ width: 1024, height: 1024 })
    await endAll(context.service)
    for (const [wrong, sentence] of [
      [{ width: '1001' }, 'The width must be a multiple of 8.'],
      [{ height: '4000' }, 'The height must be a whole number from 256 to 2048.'],
      [{ width: '2048', height: '2048' }, 'The width × height must be at most 3145728 pixels (such as 2048 × 1536).'],
    ] as const) {
      const { status, html } = await send(cookie, 'POST', '/playground', { ...custom, ...wrong })
      expect([status, textOf(html)]).toEqual([400, expect.stringContaining(sentence)])
      for (const value of Object.values(wrong)) expect(html).toContain(`value="${value}"`)
    }
  })

  it('says that the account has no active subscription before anything is sent, and draws nothing', async () => {
    const { cookie } = await signedIn({ subscription: null })
    const page = await send(cookie, 'GET', '/playground')
    expect(page.html).toContain('No active subscription')
    expect((await send(cookie, 'POST', '/playground', FORM)).status).toBe(403)
  })
})

describe('a model with values of its own', () => {
  beforeAll(() => givenOwnModels(context.service.db))
  const pageOf = async (cookie: string, id: number) =>
    textOf((await pageHtml(cookie, id)).replaceAll(/<option[^>]*>/g, ' '))
  const pageHtml = async (cookie: string, id: number) => (await send(cookie, 'GET', `/playground?model=${id}`)).html
  const field = (html: string, id: string) => new RegExp(`<(?:input|textarea) id="${id}"[^>]*>`).exec(html)?.[0]

  it('has its limits, values and price on the form', async () => {
    const { cookie } = await signedIn()
    const turbo = await pageHtml(cookie, TURBO.id)
    expect(field(turbo, 'steps')).toMatch(/max="10" min="1" placeholder="Default: 8"/)
    expect(field(turbo, 'cfg_scale')).toContain('placeholder="No effect"')
    expect(field(turbo, 'negative_prompt')).toContain('placeholder="No effect"')
    const text = await pageOf(cookie, TURBO.id)
    for (const part of [
      'Default512×512',
      'Default: Euler',
      'Its images are 2 times as wide and as high. A negative prompt and guidance have no effect on it.',
    ])
      expect(text).toContain(part)
    // 1, and half a credit for each of its 8 steps.
    expect(text).toContain('Generate · 5 credits')
    const muted = await pageHtml(cookie, MUTED.id)
    expect(textOf(`${field(muted, 'negative_prompt')}`.replace(/^./, ''))).toContain('Default: loud "colours"')
    expect(await pageOf(cookie, MUTED.id)).toContain('No effect Euler a')
    expect(await pageOf(cookie, MODEL.id)).toMatch(/Default832×1216.*Default: Euler a/s)
    expect(field(await pageHtml(cookie, MODEL.id), 'steps')).toContain('max="100" placeholder="Default: 30"')
  })

  it('draws them where the form is blank, also after another model was looked at without scripts', async () => {
    const { user, cookie } = await signedIn()
    const blank = {
      prompt: 'a fox',
      shape: '',
      negative_prompt: '',
      steps: '',
      cfg_scale: '',
      sampler: '',
      batch_size: '1',
    }
    await send(cookie, 'POST', '/playground', { ...blank, model_version_id: `${TURBO.id}`, cfg_scale: '9' })
    expect(await activeOf(context.service, user)).toMatchObject({ width: 512, height: 512, steps: 8 })
    expect(await creditsOf(context.service.db, user)).toBe(95)
    const again = await send(cookie, 'GET', '/playground')
    expect(again.html).toMatch(/name="shape" value checked/)
    expect(field(again.html, 'steps')).toContain(' value max="10"')
    await endAll(context.service)
    await send(cookie, 'POST', '/playground', { ...blank, model_version_id: `${MUTED.id}` })
    expect(await activeOf(context.service, user)).toMatchObject({ width: 832, negative_prompt: 'loud "colours"' })
  })

  it('shows the real size of what it enlarges, and asks for the same again from its page and with its code', async () => {
    const { user, cookie } = await signedIn()
    const { db } = context.service
    const asked = { model: modelOf(TURBO), width: 640, height: 512, steps: 8, cfgScale: 1, sampler: 'euler' } as const
    const [slug] = (await givenEndedGeneration(db, user, asked)).slugs
    await db.pool.query('UPDATE images SET width = 2 * width, height = 2 * height WHERE slug = $1', [slug])
    const page = async (path: string) => (await send(cookie, 'GET', path)).html
    expect(textOf(await page('/playground'))).toContain('Krea 2 · 1280 × 1024')
    const remix = await page(`/playground?from=${slug}`)
    expect(remix).toContain('name="shape" value="custom" checked')
    expect([field(remix, 'width'), field(remix, 'height')]).toEqual([
      expect.stringMatching(/value="640" min="256" max="1024" step="64"/),
      expect.stringMatching(/value="512" min="256" max="2048" step="64"/),
    ])
    const own = textOf(await page(`/image/${slug}`))
    expect(own).toContain('1280 × 1024')
    expect(own).toMatch(/"width": 640,\s+"height": 512,/)
  })

  it.each([
    [{ steps: '11' }, 'The number of steps must be from 1 to 10 for Krea 2 turbo.'],
    [{ shape: '1344x768' }, 'The width must be from 256 to 1024 for Krea 2 turbo.'],
    [{ shape: 'custom', width: '520', height: '512' }, 'The width must be a multiple of 64 for Krea 2 turbo.'],
    [{ batch_size: '3' }, 'The number of images must be from 1 to 2 for Krea 2 turbo.'],
  ])('refuses %j with a sentence that names its limits, and keeps the form', async (wrong, sentence) => {
    const { user, cookie } = await signedIn()
    const form = { ...FORM, model_version_id: `${TURBO.id}`, shape: '', batch_size: '1', ...wrong }
    const { status, html } = await send(cookie, 'POST', '/playground', form)
    expect([status, textOf(html)]).toEqual([400, expect.stringContaining(sentence)])
    expect(html).toContain(`name="model_version_id" value="${TURBO.id}" checked`)
    expect(await activeOf(context.service, user)).toBeUndefined()
  })
})
