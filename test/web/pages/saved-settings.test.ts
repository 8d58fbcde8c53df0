import { describe, expect, it } from 'vitest'
import { MAX_SAVED_SETTINGS } from '../../../src/core/accounts/saved-settings.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { savedSettingsStore } from '../../../src/db/accounts/saved-settings.js'
import { type GivenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { textOf, visit } from '../../support/website-client.js'
import { HOSTILE, signedIn as signedInTo } from './given-playground.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const signedIn = () => signedInTo(context.service)
const store = () => savedSettingsStore(context.service.db)
const namesOf = async ({ id }: GivenUser) => (await store().list(id)).map(({ name }) => name)

const send = (cookie: string, path: string, body?: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { body, cookie })
const sendInPlace = (cookie: string, path: string, body: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { body, cookie, headers: { 'hx-request': 'true' } })

const OTHER = 12
/** As the form sends it. */
const FORM = {
  ...{ prompt: 'a lighthouse', negative_prompt: 'blurry', model_version_id: `${OTHER}`, shape: '1024x1024' },
  ...{ batch_size: '3', steps: '12', cfg_scale: '5.5', sampler: 'ddim', seed: '7' },
}
const naming = (name: string, more = {}) => ({
  name,
  style: 'soft watercolor',
  settings: JSON.stringify(FORM),
  ...more,
})

describe('saved settings', () => {
  it('keep the form without its prompt and seed under a name, and fill it again, without scripts', async () => {
    const { user, cookie } = await signedIn()
    const asked = await send(cookie, '/playground', { ...FORM, to: 'save-settings' })
    expect(asked.html).toContain('Name of these settings')
    expect(asked.html).toContain('a lighthouse</textarea>')
    const saved = await send(cookie, '/playground/settings', naming(' Ink '))
    expect(textOf(saved.html)).toContain('Saved as “Ink”.')
    expect(saved.html).toContain('a lighthouse</textarea>')
    const [{ id = '' } = {}] = await store().list(user.id)
    const found = await store().find(user.id, id)
    expect(found?.body).toEqual({
      ...{ negative_prompt: 'blurry', model_version_id: OTHER, width: 1024, height: 1024, batch_size: 3 },
      ...{ steps: 12, cfg_scale: 5.5, sampler: 'ddim' },
    })
    const blank = { ...FORM, negative_prompt: '', steps: '', sampler: '', seed: '9', model_version_id: `${MODEL.id}` }
    const { html } = await send(cookie, '/playground', { ...blank, prompt: 'a fox', to: 'apply', settings: id })
    for (const part of ['a fox, soft watercolor</textarea>', 'blurry</textarea>', 'value="12"', 'value="9"'])
      expect(html).toContain(part)
    expect(html).toMatch(new RegExp(`value="${OTHER}" checked`))
    // The words of a style are there once.
    const again = await send(cookie, '/playground', {
      ...blank,
      prompt: 'a fox, soft watercolor',
      to: 'apply',
      settings: id,
    })
    expect(again.html).toContain('a fox, soft watercolor</textarea>')
    expect((await send(cookie, `/playground?settings=${id}`)).html).toContain('soft watercolor</textarea>')
  })

  it('replace others of their name only when the person says so, and lose nothing until then', async () => {
    const { user, cookie } = await signedIn()
    await send(cookie, '/playground/settings', naming('Ink'))
    const taken = await sendInPlace(cookie, '/playground/settings', naming('INK', { style: 'kept words' }))
    expect(textOf(taken.html)).toContain('You have settings named “INK”: choose another name, or replace them.')
    expect(taken.html).toContain('value="kept words"')
    expect(taken.html).toContain('name="replace"')
    expect(await namesOf(user)).toEqual(['Ink'])
    await sendInPlace(cookie, '/playground/settings', naming('INK', { style: 'other', replace: 'yes' }))
    expect(await namesOf(user)).toEqual(['INK'])
    const [{ id = '' } = {}] = await store().list(user.id)
    expect((await store().find(user.id, id))?.style).toBe('other')
  })

  it('are renamed and deleted', async () => {
    const { user, cookie } = await signedIn()
    for (const name of ['Ink', 'Oil']) await send(cookie, '/playground/settings', naming(name))
    const [ink] = await store().list(user.id)
    const path = `/playground/settings/${ink?.id}`
    expect((await send(cookie, path, { do: 'rename', name: HOSTILE.slice(-9) })).location).toBe(
      '/playground#saved-settings',
    )
    const refused = await sendInPlace(cookie, path, { do: 'rename', name: 'oil' })
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining('named "oil": choose another'),
    ])
    await sendInPlace(cookie, path, { do: 'delete', name: '' })
    expect(await namesOf(user)).toEqual(['Oil'])
    expect((await sendInPlace(cookie, path, { do: 'rename', name: 'Ink' })).html).toContain('These settings are gone')
  })

  it('of a model that is gone say so, and fill the rest', async () => {
    const { user, cookie } = await signedIn()
    await store().save(user.id, { name: 'Old', style: '', body: { model_version_id: 987_654, steps: 44 } })
    const [{ id = '' } = {}] = await store().list(user.id)
    const { html } = await send(cookie, '/playground', { ...FORM, to: 'apply', settings: id })
    expect(html).toContain('The model of these settings is not on offer any more: the rest was applied.')
    expect(html).toContain('value="44"')
    expect(html).toMatch(new RegExp(`value="${OTHER}" checked`))
  })

  it('are refused with a sentence for what makes no sense', async () => {
    const { user, cookie } = await signedIn()
    const unnamed = await send(cookie, '/playground/settings', naming(' '))
    expect([unnamed.status, unnamed.html]).toEqual([400, expect.stringContaining('Give the settings a name')])
    expect(unnamed.html).toContain('value="soft watercolor"')
    const long = await send(cookie, '/playground/settings', naming('x', { style: 'x'.repeat(501) }))
    expect(long.html).toContain('The style must be at most 500 characters')
    const unfit = await send(cookie, '/playground', { ...FORM, steps: 'many', to: 'save-settings' })
    expect(unfit.html).toContain('The number of steps must be a whole number from 1 to 100.')
    expect((await send(cookie, '/playground/settings', naming('x', { settings: '{' }))).status).toBe(400)
    const broken = { ...FORM, negative_prompt: 'a\0b' }
    const unstorable = await send(cookie, '/playground/settings', naming('x', { settings: JSON.stringify(broken) }))
    expect([unstorable.status, unstorable.html]).toEqual([400, expect.stringContaining('The negative prompt')])
    expect((await send(cookie, '/playground/settings', naming('a\0b'))).status).toBe(400)
    expect(await namesOf(user)).toEqual([])
    const gone = await send(cookie, '/playground', { ...FORM, to: 'apply', settings: user.id })
    expect(gone.html).toContain('These settings are gone: choose others.')
  })

  it('are few enough to choose from, and go with their account', async () => {
    const { user, cookie } = await signedIn()
    for (let n = 0; n < MAX_SAVED_SETTINGS; n++) await store().save(user.id, { name: `${n}`, style: '', body: {} })
    const { html } = await send(cookie, '/playground/settings', naming('more'))
    expect(html).toContain('You have 100 saved settings, the most there may be')
    await operatorUserStore(context.service.db).delete(user.id)
    expect(await namesOf(user)).toEqual([])
  })

  it('are nobody else’s', async () => {
    const [{ user, cookie }, stranger] = [await signedIn(), await signedIn()]
    await send(cookie, '/playground/settings', naming('Ink'))
    const [{ id = '' } = {}] = await store().list(user.id)
    expect((await send(stranger.cookie, `/playground?settings=${id}`)).html).toContain('These settings are gone')
    await send(stranger.cookie, `/playground/settings/${id}`, { do: 'delete', name: '' })
    expect(await namesOf(user)).toEqual(['Ink'])
  })
})
