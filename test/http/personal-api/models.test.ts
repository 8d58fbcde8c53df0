import { beforeEach, describe, expect, it } from 'vitest'
import type { ModelVersion } from '../../../src/core/catalog/model-version.js'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { modelVersions } from '../../../src/db/schema/catalog.js'
import { call } from '../../support/client.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })

async function listing() {
  const { key } = await givenUser(context.service.db, { credits: 0, subscription: null })
  return call(context.service.url, 'GET', '/api/v1/models', { key })
}

const givenModels = (...models: (Pick<ModelVersion, 'id' | 'modelName' | 'name'> & Partial<ModelVersion>)[]) =>
  context.service.db.orm
    .insert(modelVersions)
    .values(
      models.map((model) => ({ baseModel: 'Pony', type: 'Checkpoint', filename: `${model.id}.safetensors`, ...model })),
    )

it('a fresh database lists the seeded models', async () => {
  expect((await listing()).body.count).toBe(SEED_MODELS.length)
})

describe('GET /api/v1/models', () => {
  beforeEach(() => context.service.db.pool.query('DELETE FROM model_versions').then(() => undefined))

  it('lists each version with exactly the spec’s fields, and their number', async () => {
    await givenModels({
      id: 101,
      modelName: 'Pony Diffusion',
      name: 'v6',
      filename: 'ponyDiffusionV6XL.safetensors',
      coverImage: 'https://cdn.example/pony.png',
      nsfw: true,
      creditsPerImage: 3,
      createImageModel: 'noobai-xl',
    })
    const answer = await listing()
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      models: [
        {
          id: 101,
          name: 'v6',
          model_name: 'Pony Diffusion',
          base_model: 'Pony',
          type: 'Checkpoint',
          filename: 'ponyDiffusionV6XL.safetensors',
          cover_image: 'https://cdn.example/pony.png',
          nsfw: true,
        },
      ],
      count: 1,
    })
  })

  it('shows null where there is no cover image', async () => {
    await givenModels({ id: 1, modelName: 'm', name: 'v' })
    expect((await listing()).body.models[0]).toMatchObject({ cover_image: null, nsfw: false })
  })

  it('leaves out a version that is not enabled, also from the count', async () => {
    await givenModels({ id: 1, modelName: 'on', name: 'v' }, { id: 2, modelName: 'off', name: 'v', enabled: false })
    expect((await listing()).body).toMatchObject({ models: [{ id: 1 }], count: 1 })
  })

  it('is empty where no version is enabled', async () => {
    await givenModels({ id: 2, modelName: 'off', name: 'v', enabled: false })
    expect((await listing()).body).toEqual({ models: [], count: 0 })
  })

  it('sorts by model name, version name and id: by bytes, but without regard to case', async () => {
    // A language's order would put "alpha_bet" after "Alphabet" and "éclair" before "zeta".
    const sorted: [string, string][] = [
      ['Alpha', 'V1'],
      ['alpha', 'v10'],
      ['ALPHA', 'v2'],
      ['alpha', 'V2'],
      ['alpha 2', 'a'],
      ['Alpha-2', 'a'],
      ['alpha_bet', 'B'],
      ['Alphabet', 'a'],
      ['zeta', 'a'],
      ['éclair', 'a'],
    ]
    const expected = sorted.map(([modelName, name], index) => ({ id: index + 1, modelName, name }))
    await givenModels(...expected.toReversed())
    const { body } = await listing()
    expect(body.models.map(({ id }: { id: number }) => id)).toEqual(expected.map(({ id }) => id))
    expect(body.count).toBe(10)
  })
})
