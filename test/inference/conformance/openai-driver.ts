import { expect } from 'vitest'
import type { OpenAiDialect, OpenAiSettings } from '../../stand-ins/openai/openai-stand-in.js'
import { PONY, SDXL } from '../given.js'
import { givenBackend } from '../openai/given.js'
import type { ServerDriver } from './driver.js'

const CALL_PATH = '/v1/images/generations'
const QUERY = '?sampler=euler_a&sampler=heun'

export const openAiDriver = (dialect: Exclude<OpenAiDialect, 'sdcpp'>): ServerDriver => ({
  ...{ kind: 'openai', name: `OpenAI’s API (${dialect})`, query: QUERY },
  callPath: CALL_PATH,
  offers: { models: expect.arrayContaining([PONY, SDXL]), maxSeed: 2147483647, sizeMultiple: 64 },
  madeWith: { backend: 'openai', version: null, sampler: 'euler_a', scheduler: null, of: 'euler_a' },
  calls: [[2147483646], [2147483647]],
  ignores: dialect === 'localai' ? ['sampler', 'cfgScale', 'negativePrompt'] : ['sampler'],
  lacks: 'lms',
  writes: (text) => text.replace('<lora', '< lora'),
  wrongs: {
    ...{ 'another size': 'wrong_size', 'a broken image': 'broken_image', 'another number of images': 'two_images' },
    'another model': 'other_model',
  },
  tellsProgress: false,
  leaves: 'hung up',
  async given({ auth, timeoutMs } = {}) {
    const models = [PONY, SDXL].map((name) => name.replace('.safetensors', ''))
    const options = { rest: `/v1${QUERY}`, ...(timeoutMs && { timeoutMs }) }
    const given = await givenBackend({ dialect, models, ...(auth && { auth }) }, options)
    const { standIn } = given
    return {
      ...given,
      asked: () =>
        standIn.asked().map((body) => {
          const [width, height] = String(body.size).split('x').map(Number)
          return {
            ...{ prompt: String(body.prompt), negativePrompt: String(body.negative_prompt) },
            ...{ width: Number(width), height: Number(height) },
            ...{ steps: Number(body.steps), cfgScale: Number(body.cfg_scale), seeds: [Number(body.seed)] },
          }
        }),
      fail: (what, fault) => standIn.set({ fault, on: what === 'calls' ? 'generations' : 'models' }),
      drawWrong: (how) => standIn.set({ fault: how as OpenAiSettings['fault'] }),
      hold: (held) => standIn.set({ held }),
      begun: () => standIn.seen(({ path }) => path === CALL_PATH),
      jobs: standIn.connections,
    }
  },
})
