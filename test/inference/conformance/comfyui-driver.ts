import type { RunFault } from '../../stand-ins/comfyui/faults.js'
import type { Version } from '../../stand-ins/comfyui/nodes.js'
import { until } from '../../support/until.js'
import { givenBackend, givenPrompt } from '../comfyui/given.js'
import { PONY, SDXL } from '../given.js'
import type { ServerDriver } from './driver.js'

type Nodes = Record<string, { class_type: string; inputs: Record<string, unknown> } | undefined>

export const comfyuiDriver = (version: Version): ServerDriver => ({
  ...{ kind: 'comfyui', name: `ComfyUI (${version})`, callPath: '/prompt' },
  offers: { models: [PONY, SDXL], maxSeed: 4294967295, sizeMultiple: 8 },
  madeWith: {
    ...{ backend: 'comfyui', version: version === 'old' ? null : '0.3.64' },
    ...{ sampler: 'dpmpp_2m', scheduler: 'karras', of: 'dpmpp_2m_karras' },
  },
  calls: [[4294967294, 4294967295, 0, 1]],
  lacks: 'pndm',
  wrongs: {
    ...{ 'another size': 'wrong_size', 'a broken image': 'broken_image', 'another number of images': 'two_files' },
    'another seed': 'other_seed',
  },
  // Only the answer is lost.
  answers: { drop_mid_reply: null },
  tellsProgress: true,
  leaves: 'nothing',
  queues: 'of all',
  async given({ auth, ...times } = {}) {
    const given = await givenBackend({ version, ...(auth && { auth }) }, times)
    const { standIn } = given
    return {
      ...given,
      asked: () =>
        standIn.asked().map((body) => {
          const { '4': _, '5': latent, '6': prompt, '7': negative, ...others } = body.prompt as Nodes
          const samplers = Object.values(others).filter((node) => node?.class_type === 'KSampler')
          const { steps, cfg } = samplers[0]?.inputs ?? {}
          return {
            ...{ prompt: String(prompt?.inputs.text), negativePrompt: String(negative?.inputs.text) },
            ...{ width: Number(latent?.inputs.width), height: Number(latent?.inputs.height) },
            ...{ steps: Number(steps), cfgScale: Number(cfg) },
            seeds: samplers.map((node) => Number(node?.inputs.seed)),
          }
        }),
      fail: (what, fault) => standIn.set({ fault, on: what === 'calls' ? 'POST /prompt' : '' }),
      drawWrong: (how) => standIn.set({ run: how as RunFault }),
      hold: (held) => standIn.set({ held }),
      begun: () => until(() => standIn.queue().length > 0, 'a prompt'),
      jobs: () => standIn.queue().length,
      giveOther: () => givenPrompt(standIn.url, { extra_data: { easel_attempt: 'gen_other-1' } }),
      stopRunning: () => fetch(`${standIn.url}/interrupt`, { method: 'POST' }),
    }
  },
})
