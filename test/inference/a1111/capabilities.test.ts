import { expect, it } from 'vitest'
import { failureOf } from '../given.js'
import { givenBackend } from './given.js'

it('logs once which relative of AUTOMATIC1111 the server is', async () => {
  const logged: object[] = []
  const logger = { info: (facts: object) => void logged.push(facts) } as never
  const { capabilities } = await givenBackend({ dialect: 'sdnext' }, { logger })
  await capabilities()
  await capabilities()
  expect(logged).toEqual([expect.objectContaining({ dialect: 'sdnext' })])
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
