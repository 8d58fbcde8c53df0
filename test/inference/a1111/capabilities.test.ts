import { describe, expect, it, onTestFinished } from 'vitest'
import { createBackend } from '../../../src/inference/create-backend.js'
import { givenKoboldCpp } from '../../support/koboldcpp.js'
import { until } from '../../support/until.js'
import { failureOf, PONY, SDXL } from '../given.js'
import { givenBackend } from './given.js'

it('logs once which relative of AUTOMATIC1111 the server is', async () => {
  const logged: object[] = []
  const logger = { info: (facts: object) => void logged.push(facts) } as never
  const { capabilities } = await givenBackend({ dialect: 'sdnext' }, { logger })
  await capabilities()
  await capabilities()
  expect(logged).toEqual([expect.objectContaining({ dialect: 'sdnext' })])
})

describe('a server that was started before a model of the catalog was added', () => {
  const refreshes = (standIn: { readonly journal: readonly { path: string }[] }) =>
    standIn.journal.filter(({ path }) => path.endsWith('/refresh-checkpoints')).length

  it('is told to look at its files again, at most once a minute', async () => {
    const wanted = async () => [PONY, 'new.safetensors', 'nowhere.safetensors']
    const { standIn, capabilities } = await givenBackend({ models: [PONY], added: ['new.safetensors'] }, { wanted })
    expect((await capabilities()).models).toEqual([PONY, 'new.safetensors'])
    await capabilities()
    expect(refreshes(standIn)).toBe(1)
  })

  it('is left alone if it has all, if it draws, or if it is not known what it should have', async () => {
    const { standIn, capabilities } = await givenBackend({ models: [PONY] }, { wanted: async () => [PONY] })
    await capabilities()
    const broken = { wanted: () => Promise.reject(new Error('Postgres is away')) }
    const other = await givenBackend({ models: [PONY] }, broken)
    await other.capabilities()
    const silent = await givenBackend({ models: [PONY] }, { wanted: () => new Promise(() => undefined) })
    await silent.capabilities()
    const busy = await givenBackend({ models: [PONY] }, { wanted: async () => (busy.standIn.jobs() > 0 ? [SDXL] : []) })
    busy.standIn.set({ held: true })
    const drawn = busy.generate()
    await until(busy.standIn.jobs, 'the drawing')
    await busy.capabilities()
    busy.standIn.set({ held: false })
    await drawn
    expect([standIn, other.standIn, silent.standIn, busy.standIn].map(refreshes)).toEqual([0, 0, 0, 0])
  })
})

it('calls KoboldCpp, which imitates this API and others, by its name', async () => {
  const url = await givenKoboldCpp()
  for (const kind of ['a1111', 'comfyui', 'sdcpp']) {
    const backend = createBackend(`${kind}+${url}`, { timeoutMs: 60_000 })
    onTestFinished(() => backend.close())
    expect(await failureOf(backend.capabilities(new AbortController().signal))).toMatchObject({
      kind: 'unusable',
      message: expect.stringMatching(/ is KoboldCpp, which Easel cannot use: serve the model with/),
    })
  }
})

it('refuses stable-diffusion.cpp, where nothing can be canceled through this API, and names the scheme to use', async () => {
  const { standIn, capabilities, generate } = await givenBackend({ dialect: 'sdcpp' })
  for (const work of [capabilities(), generate()])
    expect(await failureOf(work)).toMatchObject({
      kind: 'unusable',
      message: expect.stringMatching(/is stable-diffusion\.cpp.*sdcpp\+http:\/\//),
    })
  expect(standIn.asked()).toEqual([])
})
