import type { ModelVersion } from './model-version.js'

const checkpoint = (
  id: number,
  modelName: string,
  name: string,
  baseModel: string,
  filename: string,
  more: Partial<Pick<ModelVersion, 'nsfw' | 'createImageModel'>> = {},
): ModelVersion => ({
  id,
  name,
  modelName,
  baseModel,
  type: 'Checkpoint',
  filename,
  coverImage: null,
  nsfw: false,
  enabled: true,
  creditsPerImage: 1,
  createImageModel: null,
  ...more,
})

/** What `migrate` puts into an empty catalog: the six Create Image models and a few SDXL-type checkpoints, ids 1 to 99. */
export const SEED_MODELS: readonly ModelVersion[] = [
  checkpoint(1, 'NoobAI-XL', 'v1.1', 'NoobAI', 'noobaiXL_v11.safetensors', { createImageModel: 'noobai-xl' }),
  checkpoint(2, 'DucHaiten', 'v5', 'Pony', 'duchaiten_v5.safetensors', { createImageModel: 'duchaiten' }),
  checkpoint(3, 'DucHaiten Real', 'v4', 'Pony', 'duchaitenReal_v4.safetensors', { createImageModel: 'duchaiten-real' }),
  checkpoint(4, 'Hassaku Illustrious', 'v2.1', 'Illustrious', 'hassakuIllustrious_v21.safetensors', {
    createImageModel: 'hassaku-illustrious',
  }),
  checkpoint(5, 'WAI NSFW Illustrious', 'v14', 'Illustrious', 'waiNSFWIllustrious_v140.safetensors', {
    nsfw: true,
    createImageModel: 'wai-nsfw-illustrious',
  }),
  checkpoint(6, 'Plant Milk', 'Walnut', 'Illustrious', 'plantMilk_walnut.safetensors', {
    createImageModel: 'plant-milk',
  }),
  checkpoint(10, 'Pony Diffusion', 'V6 XL', 'Pony', 'ponyDiffusionV6XL.safetensors'),
  checkpoint(11, 'Illustrious XL', 'v1.0', 'Illustrious', 'illustriousXL_v10.safetensors'),
  checkpoint(12, 'Animagine XL', '4.0', 'SDXL 1.0', 'animagineXL_40.safetensors'),
  checkpoint(13, 'Stable Diffusion XL', '1.0', 'SDXL 1.0', 'sd_xl_base_1.0.safetensors'),
]
