import { expect, it } from 'vitest'
import { type ModelVersion, readableNames } from '../../../src/core/catalog/model-version.js'
import { MODEL } from '../../support/givens.js'

const namesOf = (...models: readonly Partial<ModelVersion>[]) =>
  Object.fromEntries(
    [...readableNames(models.map((it) => ({ ...MODEL, createImageModel: null, ...it })))].map(([name, { id }]) => [
      name,
      id,
    ]),
  )

it('a readable name is the model’s and its version’s, in lower case and with hyphens', () => {
  expect(namesOf({ id: 7, modelName: 'Éclair XL', name: 'v1.1 (fast)' })).toEqual({ 'eclair-xl-v1.1-fast': 7 })
})

it('a readable name stays with the older of two versions, and with a Create Image model before both', () => {
  const twin = { modelName: 'Pony', name: 'v6' }
  expect(namesOf({ id: 9, ...twin }, { id: 8, ...twin })).toEqual({ 'pony-v6': 8, 9: 9 })
  expect(namesOf({ id: 8, ...twin }, { id: 9, createImageModel: 'pony-v6' })).toEqual({ 'pony-v6': 9, 8: 8 })
})
