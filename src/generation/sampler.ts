/** The sampler values of `POST /api/v1/generate`, in the order of the spec's table. */
export const SAMPLERS = [
  'euler_a',
  'euler',
  'dpmpp_2m_karras',
  'dpmpp_2m_sde_karras',
  'dpmpp_2m',
  'dpmpp_sde',
  'dpmpp_sde_karras',
  'ddim',
  'ddpm',
  'heun',
  'lms',
  'lms_karras',
  'dpm2',
  'dpm2_a',
  'unipc',
  'pndm',
  'deis',
  'dpm_sde_karras',
] as const

export type Sampler = (typeof SAMPLERS)[number]

/**
 * The samplers and their schedules under AUTOMATIC1111's names, which its infotexts have made common: other tools read
 * them, too. "Automatic" is what a sampler of theirs brings along.
 */
export const INFOTEXT_SAMPLERS: Readonly<Record<Sampler, readonly [name: string, schedule: string]>> = {
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
}
