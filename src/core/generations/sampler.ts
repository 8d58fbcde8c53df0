/**
 * The samplers of `POST /api/v1/generate`, in the order of the spec's table, each with its name and schedule in
 * AUTOMATIC1111's infotexts, which other tools read, too. "Automatic": the sampler's own schedule.
 */
export const INFOTEXT_SAMPLERS = {
  euler_a: ['Euler a', 'Uniform'],
  euler: ['Euler', 'Uniform'],
  dpmpp_2m_karras: ['DPM++ 2M', 'Karras'],
  dpmpp_2m_sde_karras: ['DPM++ 2M SDE', 'Karras'],
  dpmpp_2m: ['DPM++ 2M', 'Uniform'],
  dpmpp_sde: ['DPM++ SDE', 'Uniform'],
  dpmpp_sde_karras: ['DPM++ SDE', 'Karras'],
  ddim: ['DDIM', 'Automatic'],
  ddpm: ['DDPM', 'Automatic'],
  heun: ['Heun', 'Uniform'],
  lms: ['LMS', 'Uniform'],
  lms_karras: ['LMS', 'Karras'],
  dpm2: ['DPM2', 'Uniform'],
  dpm2_a: ['DPM2 a', 'Uniform'],
  unipc: ['UniPC', 'Automatic'],
  pndm: ['PLMS', 'Automatic'],
  deis: ['DEIS', 'Uniform'],
  dpm_sde_karras: ['DPM++ SDE', 'Karras'],
} as const satisfies Record<string, readonly [name: string, schedule: string]>

export type Sampler = keyof typeof INFOTEXT_SAMPLERS

export const SAMPLERS = Object.keys(INFOTEXT_SAMPLERS) as unknown as readonly [Sampler, ...Sampler[]]
