import type { Drawing } from '../../stand-ins/a1111/dialects.js'
import type { Fault } from '../../stand-ins/a1111/faults.js'
import { until } from '../../support/until.js'
import { givenBackend, isTxt2img } from '../a1111/given.js'
import { PONY, SDXL } from '../given.js'
import type { ServerDriver } from './driver.js'

const SERVERS = {
  a1111: ['AUTOMATIC1111', 'a1111', 'v1.10.1', 'DPM++ 2M', 'Karras'],
  forge: ['Forge', 'a1111', 'v1.10.1', 'DPM++ 2M', 'Karras'],
  legacy: ['AUTOMATIC1111 before 1.9', 'a1111', 'v1.10.1', 'DPM++ 2M Karras', null],
  sdnext: ['SD.Next', 'sdnext', null, 'DPM++ 2M', 'karras'],
} as const

export const a1111Driver = (dialect: Drawing): ServerDriver => {
  const [name, backend, version, sampler, scheduler] = SERVERS[dialect]
  return {
    callPath: '/sdapi/v1/txt2img',
    ...{ kind: 'a1111', name },
    offers: { models: [PONY, SDXL], ambiguous: [], maxSeed: 4294967295, sizeMultiple: 8 },
    madeWith: { backend, version, sampler, scheduler, of: 'dpmpp_2m_karras' },
    calls: [
      [4294967294, 4294967295],
      [0, 1],
    ],
    // Where SD.Next chooses from {a|b}, a choice may be any part of a name.
    writes: (text) => text.replace('<lora', dialect === 'sdnext' ? '‹lora' : '< lora'),
    // The others have every sampler.
    ...(['a1111', 'legacy'].includes(dialect) && { lacks: 'ddpm' }),
    wrongs: {
      ...{ 'another size': 'wrong_size', 'a broken image': 'broken_image', 'another number of images': 'wrong_count' },
      ...{ 'another seed': 'wrong_seeds', 'another model': 'wrong_model', 'another sampler': 'default_sampler' },
    },
    tellsProgress: true,
    leaves: 'nothing',
    queues: 'of one',
    async given({ auth, ...times } = {}) {
      const given = await givenBackend({ dialect, ...(auth && { auth }) }, times)
      const { standIn } = given
      const post = (path: string, body: object) =>
        fetch(`${standIn.url}${path}`, { method: 'POST', body: JSON.stringify(body) }).catch(() => undefined)
      return {
        ...given,
        asked: () =>
          standIn.asked().map((body) => ({
            ...{ prompt: String(body.prompt), negativePrompt: String(body.negative_prompt) },
            ...{ width: Number(body.width), height: Number(body.height) },
            ...{ steps: Number(body.steps), cfgScale: Number(body.cfg_scale) },
            seeds: Array.from({ length: Number(body.batch_size) }, (_, n) => Number(body.seed) + n),
          })),
        fail: (what, fault) => standIn.set({ fault, scope: what === 'calls' ? 'txt2img' : 'all' }),
        drawWrong: (how) => standIn.set({ fault: how as Fault }),
        hold: (held) => standIn.set({ held }),
        begun: () => until(standIn.jobs, 'an inference'),
        jobs: standIn.jobs,
        async giveOther() {
          void post('/sdapi/v1/txt2img', { prompt: 'of another', steps: 20, force_task_id: 'of-another' })
          await standIn.seen(isTxt2img)
        },
        stopRunning: () => post('/sdapi/v1/interrupt', {}),
      }
    },
  }
}
