/** The public names of spec 4.6, and what they are called in the core. */
import type { Sampler } from '../../generation/sampler.js'

export const CREATE_IMAGE_MODELS = [
  'noobai-xl',
  'duchaiten',
  'duchaiten-real',
  'hassaku-illustrious',
  'wai-nsfw-illustrious',
  'plant-milk',
] as const

export const CREATE_IMAGE_SAMPLERS = ['euler-a', 'dpm-2m-karras', 'dpm-sde-karras', 'ddim'] as const

export const samplerOf: Readonly<Record<(typeof CREATE_IMAGE_SAMPLERS)[number], Sampler>> = {
  'euler-a': 'euler_a',
  'dpm-2m-karras': 'dpmpp_2m_karras',
  'dpm-sde-karras': 'dpmpp_sde_karras',
  ddim: 'ddim',
}

/** The core's sentence about a sampler, which has the name here that it was asked for by. */
export const inOwnWords = (sentence: string): string =>
  Object.entries(samplerOf).reduce((text, [own, core]) => text.replace(`"${core}"`, `"${own}"`), sentence)
