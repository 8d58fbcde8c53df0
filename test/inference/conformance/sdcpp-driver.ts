import type { DrawnWrong } from '../../stand-ins/sdcpp/jobs.js'
import { until } from '../../support/until.js'
import { PONY } from '../given.js'
import { givenBackend } from '../sdcpp/given.js'
import type { ServerDriver } from './driver.js'

export const sdCppDriver: ServerDriver = {
  ...{ kind: 'sdcpp', name: 'stable-diffusion.cpp', callPath: '/sdcpp/v1/img_gen' },
  offers: { models: [PONY], maxSeed: 4294967295, sizeMultiple: 64 },
  madeWith: {
    ...{ backend: 'sdcpp', version: 'stable-diffusion.cpp' },
    ...{ sampler: 'dpm++2m', scheduler: 'karras', of: 'dpmpp_2m_karras' },
  },
  calls: [
    [4294967294, 4294967295],
    [0, 1],
  ],
  ignores: ['model'],
  lacks: 'ddim',
  wrongs: {
    ...{ 'another size': 'wrong_size', 'a broken image': 'broken_image', 'another number of images': 'wrong_count' },
    ...{ 'another seed': 'wrong_seeds', 'another model': 'wrong_model', 'another sampler': 'default_sampler' },
    'another number of steps': 'wrong_steps',
  },
  accepts: 202,
  // A page of a proxy's, as its 200 shows.
  answers: { garbage: 'unavailable' },
  tellsProgress: false,
  leaves: 'job',
  queues: 'of all',
  async given({ auth, ...times } = {}) {
    const given = await givenBackend(auth ? { auth } : {}, times)
    const { standIn } = given
    const pending = () => standIn.jobs.statuses().filter((status) => status === 'queued' || status === 'generating')
    return {
      ...given,
      asked: () =>
        standIn.asked().map((text) => {
          const { prompt, negative_prompt, width, height, seed, batch_count, sample_params } = JSON.parse(text)
          return {
            ...{ prompt, negativePrompt: negative_prompt, width, height },
            ...{ steps: sample_params.sample_steps, cfgScale: sample_params.guidance.txt_cfg },
            seeds: Array.from({ length: batch_count }, (_, n) => seed + n),
          }
        }),
      fail: (what, fault) => standIn.set({ fault, on: what === 'calls' ? 'img_gen' : 'capabilities' }),
      drawWrong: (how) => standIn.set({ fault: how as DrawnWrong }),
      hold: (held) => standIn.set({ held }),
      begun: () => until(() => pending().includes('generating'), 'a job'),
      jobs: () => pending().length,
      giveOther: async () => standIn.jobs.submit('{}'),
      stopRunning: async () => standIn.jobs.cancelRunning(),
    }
  },
}
