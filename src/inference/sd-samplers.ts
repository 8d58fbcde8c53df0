import { INFOTEXT_SAMPLERS, SAMPLERS, type Sampler } from '../generation/sampler.js'

/**
 * The kinds of server that speak /sdapi, each with its own names:
 * - `a1111`: AUTOMATIC1111 1.9 and newer, Forge: a sampler and a schedule
 * - `legacy`: AUTOMATIC1111 before 1.9: one name for both
 * - `sdnext`: SD.Next: a sampler, and the schedule as the option `schedulers_sigma`
 * - `sdcpp`: stable-diffusion.cpp's sd-server: its own method and schedule names
 */
export type Dialect = 'a1111' | 'legacy' | 'sdnext' | 'sdcpp'

export interface ServerSampler {
  readonly name: string
  readonly schedule: string | undefined
}

type Pair = readonly [name: string, schedule: string]

interface Names {
  readonly legacy: string | null
  readonly sdnext: Pair
  readonly sdcpp: Pair | null
}

const names = (legacy: string | null, sdnext: Pair, sdcpp: Pair | null): Names => ({
  legacy,
  sdnext,
  sdcpp,
})

/**
 * Only the same algorithm with the same noise schedule counts; null is refused rather than replaced by the nearest
 * (stable-diffusion.cpp's ddim_trailing and ipndm are such neighbours of ddim and pndm). "Automatic" is not neutral:
 * it means Karras for several samplers, so plain ones ask for "Uniform". PLMS is PNDM with skip_prk_steps. A1111's own
 * are those of infotexts.
 */
const TABLE: Record<Sampler, Names> = {
  euler_a: names('Euler a', ['Euler a', 'default'], ['euler_a', 'discrete']),
  euler: names('Euler', ['Euler', 'default'], ['euler', 'discrete']),
  dpmpp_2m_karras: names('DPM++ 2M Karras', ['DPM++ 2M', 'karras'], ['dpm++2m', 'karras']),
  dpmpp_2m_sde_karras: names('DPM++ 2M SDE Karras', ['DPM++ 2M SDE', 'karras'], ['dpm++2m_sde_bt', 'karras']),
  dpmpp_2m: names('DPM++ 2M', ['DPM++ 2M', 'default'], ['dpm++2m', 'discrete']),
  dpmpp_sde: names('DPM++ SDE', ['DPM SDE', 'default'], null),
  dpmpp_sde_karras: names('DPM++ SDE Karras', ['DPM SDE', 'karras'], null),
  ddim: names('DDIM', ['DDIM', 'default'], null),
  ddpm: names(null, ['DDPM', 'default'], null),
  heun: names('Heun', ['Heun', 'default'], ['heun', 'discrete']),
  lms: names('LMS', ['LMSD', 'default'], ['lms', 'discrete']),
  lms_karras: names('LMS Karras', ['LMSD', 'karras'], ['lms', 'karras']),
  dpm2: names('DPM2', ['KDPM2', 'default'], ['dpm2', 'discrete']),
  dpm2_a: names('DPM2 a', ['KDPM2 a', 'default'], null),
  unipc: names('UniPC', ['UniPC', 'default'], null),
  pndm: names('PLMS', ['PNDM', 'default'], null),
  deis: names(null, ['DEIS', 'default'], null),
  dpm_sde_karras: names('DPM++ SDE Karras', ['DPM SDE', 'karras'], null),
}

/** Only Forge has these two under their A1111 names: without a listing that shows them they are not there. */
const LISTED_ONLY: readonly Sampler[] = ['ddpm', 'deis']

function serverSampler(sampler: Sampler, dialect: Dialect): ServerSampler | undefined {
  const named = dialect === 'a1111' ? INFOTEXT_SAMPLERS[sampler] : TABLE[sampler][dialect]
  if (!named) return undefined
  return typeof named === 'string' ? { name: named, schedule: undefined } : { name: named[0], schedule: named[1] }
}

/**
 * Our samplers that a server can honour, under its own names. A server that lists what it has is taken at its word,
 * because it answers an unknown name with its default sampler instead of an error; `undefined` means it has no listing.
 */
export function samplersOf(
  dialect: Dialect,
  listed: { readonly samplers: ReadonlySet<string> | undefined; readonly schedules: ReadonlySet<string> | undefined },
): ReadonlyMap<Sampler, ServerSampler> {
  const available = new Map<Sampler, ServerSampler>()
  for (const sampler of SAMPLERS) {
    const named = serverSampler(sampler, dialect)
    if (!named) continue
    const sampled = listed.samplers?.has(named.name) ?? !(dialect === 'a1111' && LISTED_ONLY.includes(sampler))
    // SD.Next's /schedulers lists samplers; its schedules are the choices of an option that every version has.
    const scheduled =
      dialect === 'sdnext' || named.schedule === undefined || (listed.schedules?.has(named.schedule) ?? true)
    if (sampled && scheduled) available.set(sampler, named)
  }
  return available
}
