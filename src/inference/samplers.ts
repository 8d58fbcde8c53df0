import { INFOTEXT_SAMPLERS, SAMPLERS, type Sampler } from '../core/generations/generation.js'

/**
 * The kinds of server, by their names for samplers and schedules:
 * - `a1111`: AUTOMATIC1111 1.9 and newer, Forge: the names of infotexts
 * - `legacy`: AUTOMATIC1111 before 1.9: one name for sampler and schedule
 * - `sdnext`: SD.Next, where the schedule is the option `schedulers_sigma`
 * - `sdcpp`: stable-diffusion.cpp's sd-server, which calls a sampler a method
 * - `comfyui`: ComfyUI's KSampler
 */
type Dialect = 'a1111' | 'legacy' | keyof typeof PLAIN_SCHEDULES

/** A sampler and its noise schedule under a server's own names. */
export interface ServerSampler {
  readonly name: string
  readonly schedule: string | undefined
}

type InfotextName = (typeof INFOTEXT_SAMPLERS)[Sampler][0]

/** The schedule that is linear in the timestep; Karras's is `karras` for all of them. */
const PLAIN_SCHEDULES = { sdnext: 'default', sdcpp: 'discrete', comfyui: 'normal' }

/**
 * By the names of infotexts. Only the same algorithm with the same schedule counts: a server without it refuses the
 * sampler and does not get the nearest one (stable-diffusion.cpp's ddim_trailing and ipndm are near ddim and pndm).
 * ComfyUI's SDE samplers are those with noise from the CPU: `…_gpu` draws another image on every kind of GPU.
 */
const NAMES: Record<InfotextName, { readonly [dialect in keyof typeof PLAIN_SCHEDULES]?: string }> = {
  'Euler a': { sdnext: 'Euler a', sdcpp: 'euler_a', comfyui: 'euler_ancestral' },
  Euler: { sdnext: 'Euler', sdcpp: 'euler', comfyui: 'euler' },
  'DPM++ 2M': { sdnext: 'DPM++ 2M', sdcpp: 'dpm++2m', comfyui: 'dpmpp_2m' },
  'DPM++ 2M SDE': { sdnext: 'DPM++ 2M SDE', sdcpp: 'dpm++2m_sde_bt', comfyui: 'dpmpp_2m_sde' },
  'DPM++ SDE': { sdnext: 'DPM SDE', comfyui: 'dpmpp_sde' },
  DDIM: { sdnext: 'DDIM', comfyui: 'ddim' },
  DDPM: { sdnext: 'DDPM', comfyui: 'ddpm' },
  Heun: { sdnext: 'Heun', sdcpp: 'heun', comfyui: 'heun' },
  LMS: { sdnext: 'LMSD', sdcpp: 'lms', comfyui: 'lms' },
  DPM2: { sdnext: 'KDPM2', sdcpp: 'dpm2', comfyui: 'dpm_2' },
  'DPM2 a': { sdnext: 'KDPM2 a', comfyui: 'dpm_2_ancestral' },
  UniPC: { sdnext: 'UniPC', comfyui: 'uni_pc' },
  PLMS: { sdnext: 'PNDM' },
  DEIS: { sdnext: 'DEIS', comfyui: 'deis' },
}

/** Only Forge has these two under their A1111 names: a server that does not list them does not have them. */
const FORGE_ONLY: readonly Sampler[] = ['ddpm', 'deis']

function serverSampler(sampler: Sampler, dialect: Dialect): ServerSampler | undefined {
  const [infotextName, schedule] = INFOTEXT_SAMPLERS[sampler]
  const isKarras = schedule === 'Karras'
  if (dialect === 'a1111') return { name: infotextName, schedule }
  if (dialect === 'legacy') {
    if (FORGE_ONLY.includes(sampler)) return undefined
    return { name: isKarras ? `${infotextName} Karras` : infotextName, schedule: undefined }
  }
  const name = NAMES[infotextName][dialect]
  if (name === undefined) return undefined
  if (dialect === 'comfyui' && sampler === 'ddim') return { name, schedule: 'ddim_uniform' }
  return { name, schedule: isKarras ? 'karras' : PLAIN_SCHEDULES[dialect] }
}

/**
 * Our samplers that a server has, under its own names. Servers answer an unknown name with their default sampler
 * instead of an error, so the listing decides; without one the server counts as having all.
 */
export function samplersOf(dialect: Dialect, samplers?: readonly string[], schedules?: readonly string[]) {
  const available = new Map<Sampler, ServerSampler>()
  for (const sampler of SAMPLERS) {
    const named = serverSampler(sampler, dialect)
    if (!named) continue
    const hasName = samplers?.includes(named.name) ?? !(dialect === 'a1111' && FORGE_ONLY.includes(sampler))
    const hasSchedule = named.schedule === undefined || (schedules?.includes(named.schedule) ?? true)
    if (hasName && hasSchedule) available.set(sampler, named)
  }
  return available
}
