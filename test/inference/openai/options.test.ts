import { expect, it } from 'vitest'
import type { CheckpointOptions } from '../../../src/inference/checkpoint-options.js'
import type { OpenAiStandInOptions } from '../../stand-ins/openai/openai-stand-in.js'
import { failureOf, PONY } from '../given.js'
import { definitionOf } from '../given-definition.js'
import { givenBackend } from './given.js'

const NAME = 'pony@1'
const QWEN = { true_cfg_scale: 4, flow_shift: 3 }

function given(options: CheckpointOptions, standIn: OpenAiStandInOptions = {}, rest?: string) {
  const definitions = async () => [definitionOf(NAME, options)]
  return givenBackend(standIn, { definitions, ...(rest !== undefined && { rest }) })
}

it('sends an option to a server that describes a field for it, and to no other', async () => {
  const { standIn, capabilities, generate } = await given(QWEN, { describes: ['true_cfg_scale', 'flow_shift'] })
  expect((await capabilities()).models).toContain(NAME)
  const [image] = await generate({ model: NAME })
  expect(standIn.asked()[0]).toMatchObject({ model: 'ponyDiffusionV6XL', ...QWEN })
  expect(image?.madeWith.definition).toEqual({ name: NAME, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  await generate({ model: PONY })
  expect(Object.keys(standIn.asked()[1] ?? {})).not.toContain('true_cfg_scale')
})

it.each(['', '/v1', '/v1/'])('finds the description of a server at an address that ends in "%s"', async (path) => {
  const { capabilities } = await given(
    { true_cfg_scale: 4 },
    { describes: ['true_cfg_scale'] },
    `${path}?sampler=euler_a`,
  )
  expect((await capabilities()).models).toContain(NAME)
})

it.each<[CheckpointOptions, OpenAiStandInOptions, string[]]>([
  [QWEN, { describes: ['true_cfg_scale'] }, ['It does not take flow_shift: its /openapi.json does not list it.']],
  [
    { true_cfg_scale: 4 },
    { dialect: 'localai' },
    ['It does not take true_cfg_scale: its /openapi.json does not list it.'],
  ],
  [{ clip_skip: 2 }, { describes: ['clip_skip'] }, ['It does not take clip_skip.']],
])('does not offer %j to a server with %j, and says why', async (options, server, sentences) => {
  const { standIn, capabilities, generate } = await given(options, server)
  const { models, lacks } = await capabilities()
  expect(models).not.toContain(NAME)
  expect(lacks?.get(NAME)).toEqual(sentences)
  expect((await failureOf(generate({ model: NAME }))).kind).toBe('model_missing')
  expect(standIn.asked()).toEqual([])
})

it('asks for no description while no model needs one', async () => {
  const { standIn, generate } = await givenBackend({ describes: [] }, { definitions: async () => [] })
  await generate()
  expect(standIn.journal.map(({ path }) => path)).toEqual(['/v1/models', '/v1/images/generations'])
})
