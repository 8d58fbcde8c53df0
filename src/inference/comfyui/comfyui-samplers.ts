import { SAMPLERS, type Sampler } from '../../generation/sampler.js'

/** What a KSampler node is told. */
export interface ServerSampler {
  readonly name: string
  readonly scheduler: string
}

/**
 * Only the same algorithm with the same noise schedule counts; null is refused rather than replaced by the nearest
 * (ipndm is such a neighbour of pndm). "normal" is linear in the timestep, as the plain samplers want it. The SDE
 * samplers are those with noise from the CPU: the ones called `…_gpu` draw another picture on every kind of GPU.
 */
const TABLE: Record<Sampler, readonly [name: string, scheduler: string] | null> = {
  euler_a: ['euler_ancestral', 'normal'],
  euler: ['euler', 'normal'],
  dpmpp_2m_karras: ['dpmpp_2m', 'karras'],
  dpmpp_2m_sde_karras: ['dpmpp_2m_sde', 'karras'],
  dpmpp_2m: ['dpmpp_2m', 'normal'],
  dpmpp_sde: ['dpmpp_sde', 'normal'],
  dpmpp_sde_karras: ['dpmpp_sde', 'karras'],
  ddim: ['ddim', 'ddim_uniform'],
  ddpm: ['ddpm', 'normal'],
  heun: ['heun', 'normal'],
  lms: ['lms', 'normal'],
  lms_karras: ['lms', 'karras'],
  dpm2: ['dpm_2', 'normal'],
  dpm2_a: ['dpm_2_ancestral', 'normal'],
  unipc: ['uni_pc', 'normal'],
  pndm: null,
  deis: ['deis', 'normal'],
  dpm_sde_karras: ['dpmpp_sde', 'karras'],
}

/** Our samplers that a server can honour, under the names that it lists. */
export function samplersOf(listed: {
  readonly samplers: readonly string[]
  readonly schedulers: readonly string[]
}): ReadonlyMap<Sampler, ServerSampler> {
  const available = new Map<Sampler, ServerSampler>()
  for (const sampler of SAMPLERS) {
    const pair = TABLE[sampler]
    if (!pair) continue
    const [name, scheduler] = pair
    if (listed.samplers.includes(name) && listed.schedulers.includes(scheduler))
      available.set(sampler, { name, scheduler })
  }
  return available
}
