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
