import { beforeEach, describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { modelStore } from '../../../src/db/catalog/models.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'

/** Illustrious XL, which Create Image does not have. */
const CHOSEN = 11
const context = useService({ env: { DEFAULT_MODEL_VERSION_ID: `${CHOSEN}`, RATE_LIMIT_MAX: '1000' } })
const query = (text: string, values: unknown[] = []) => context.service.db.pool.query(text, values)
const setEnabled = (id: number, enabled: boolean) =>
  query('UPDATE model_versions SET enabled = $2 WHERE id = $1', [id, enabled])

beforeEach(async () => {
  await query('UPDATE model_versions SET enabled = true')
  await query('DELETE FROM backends')
  await query('DELETE FROM pauses')
})

/** A GPU server that has these files only. */
const givenBackend = (...models: string[]) =>
  backendRegistry(context.service.db).announce(
    'w',
    'a1111+http://gpu',
    true,
    { samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8, models },
    { loaded: undefined, error: undefined },
  )

/** What each place takes where no model is named. */
async function defaults() {
  const { url, db } = context.service
  const user = await givenUser(db)
  const { key } = user
  const cookie = await givenSession(db, user)
  const text = async (path: string, headers = {}) => (await fetch(url + path, { headers })).text()
  const { body: capabilities } = await call(url, 'GET', '/api/v1/capabilities', { key })
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_models', arguments: {} } }
  const { body: listed } = await call(url, 'POST', '/mcp', { key, body: message })
  const models: { id: number; is_default: boolean }[] = listed.result.structuredContent.models
  const idIn = (page: string, pattern: RegExp) => Number(pattern.exec(page)?.[1])
  return {
    capabilities: capabilities.defaults.model_version_id,
    agents: models.find((it) => it.is_default)?.id,
    playground: idIn(await text('/playground', { cookie }), /name="model_version_id" value="(\d+)" checked/),
    home: idIn(await text('/'), /model_version_id&quot;: (\d+)/),
    reference: idIn(await text('/docs'), /"model_version_id": (\d+)}/),
    markdown: idIn(await text('/docs.md'), /"model_version_id": (\d+)}/),
  }
}

const everywhere = (id: number) => ({
  ...{ capabilities: id, agents: id, playground: id, home: id, reference: id, markdown: id },
})

describe('the default model', () => {
  it('is what the console has chosen, before what the variable says', async () => {
    await query('UPDATE model_versions SET is_default = id = 13')
    expect(await defaults()).toEqual(everywhere(13))
    await query('UPDATE model_versions SET is_default = false')
    expect(await defaults()).toEqual(everywhere(CHOSEN))
  })

  it('is the operator’s choice in every place', async () => {
    expect(await defaults()).toEqual(everywhere(CHOSEN))
    await givenBackend('noobaiXL_v11.safetensors', 'illustriousXL_v10.safetensors')
    expect(await defaults()).toEqual(everywhere(CHOSEN))
  })

  it.each([
    ['disabled', () => setEnabled(CHOSEN, false), 1],
    ['on no live GPU server', () => givenBackend('plantMilk_walnut.safetensors', 'animagineXL_40.safetensors'), 6],
    [
      'paused',
      async () => {
        await givenBackend('illustriousXL_v10.safetensors', 'animagineXL_40.safetensors')
        await query(
          `INSERT INTO pauses (scope, target, reason) VALUES ('model', 'illustriousXL_v10.safetensors', 'test')`,
        )
      },
      12,
    ],
  ])('is the next one in order while the choice is %s', async (_, change, next) => {
    await change()
    expect(await defaults()).toEqual(everywhere(next))
  })

  it('is drawn with by a request in OpenAI’s shape that names none, and by an agent', async () => {
    const { url, db } = context.service
    const drawing = call(url, 'POST', '/v1/images/generations', {
      key: (await givenUser(db, { developer: { concurrency: 1 } })).key,
      body: { prompt: 'a lighthouse at dusk' },
    })
    const worker = standInWorker(db)
    const claimed = await worker.claim()
    expect(claimed.filename).toBe('illustriousXL_v10.safetensors')
    await worker.succeed(claimed)
    expect((await drawing).status).toBe(200)
    const params = { name: 'generate_image', arguments: { prompt: 'a lighthouse at dusk', wait_seconds: 0 } }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { body } = await call(url, 'POST', '/mcp', {
      key: (await givenUser(db)).key,
      body: message,
      headers: { accept: 'application/json' },
    })
    expect(body.result.structuredContent).toMatchObject({ model_version_id: CHOSEN })
  })

  it('is the first of Create Image’s without a choice, and an NSFW model only where there is no other', async () => {
    const models = modelStore(context.service.db)
    expect(await models.findDefault()).toMatchObject({ createImageModel: 'noobai-xl' })
    const ofNoSuchChoice = modelStore(context.service.db, 999_999)
    expect(await ofNoSuchChoice.findDefault()).toMatchObject({ createImageModel: 'noobai-xl' })
    await query('UPDATE model_versions SET enabled = id IN (5, 13)')
    expect(await models.findDefault()).toMatchObject({ id: 13 })
    await query('UPDATE model_versions SET enabled = id = 5')
    expect(await models.findDefault()).toMatchObject({ id: 5 })
    await query('UPDATE model_versions SET enabled = false')
    expect(await models.findDefault()).toBeUndefined()
  })
})
