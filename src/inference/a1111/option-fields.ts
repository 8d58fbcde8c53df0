/** A definition's options in the words of A1111, Forge and SD.Next. */
import { listedFile } from '../checkpoint-options.js'
import type { A1111Asked } from './discovery.js'
import { isForge } from './server-files.js'

/** Settings of the server; they would stay, so it must restore them after the drawing. */
export function settingsOf({ options, server }: A1111Asked): Record<string, unknown> {
  const { vae, clip_skip, forge_additional_modules: modules = [] } = options
  const forge = isForge(server)
  return {
    ...(vae && !forge && { sd_vae: listedFile(server.files?.vae ?? [], vae)?.name }),
    ...(clip_skip !== undefined && server.dialect !== 'sdnext' && { CLIP_stop_at_last_layers: clip_skip }),
    // Forge's VAE is one of its modules.
    ...(forge && (vae || modules.length > 0) && { forge_additional_modules: forgeModules(vae, modules) }),
  }
}

const forgeModules = (vae: string | undefined, modules: readonly string[]) => [
  ...new Set([...modules, ...(vae ? [vae] : [])]),
]

/** Fields of the request. */
export function fieldsOf({ options, server, request }: A1111Asked): Record<string, unknown> {
  const { clip_skip, hires, distilled_cfg_scale, true_cfg_scale, flow_shift } = options
  const sdNext = server.dialect === 'sdnext'
  return {
    ...(sdNext && clip_skip !== undefined && { clip_skip }),
    ...(sdNext && true_cfg_scale !== undefined && { cfg_true: true_cfg_scale }),
    ...(sdNext && flow_shift !== undefined && { schedulers_shift: flow_shift }),
    ...(distilled_cfg_scale !== undefined && { distilled_cfg_scale }),
    ...(hires && {
      ...{ enable_hr: true, hr_scale: hires.scale, hr_upscaler: hires.upscaler },
      ...{ hr_second_pass_steps: hires.steps ?? 0, denoising_strength: hires.denoising_strength },
      // Without these SD.Next does not enlarge the image, or draws no second pass on it.
      ...(sdNext && { hr_resize_mode: 1, hr_force: true, hr_denoising_strength: hires.denoising_strength }),
      // Without these Forge fails, or draws the second pass with guidances of its own.
      ...(isForge(server) && {
        ...{ hr_additional_modules: ['Use same choices'], hr_cfg: request.cfgScale },
        ...(distilled_cfg_scale !== undefined && { hr_distilled_cfg: distilled_cfg_scale }),
      }),
    }),
  }
}

/**
 * The operator's LoRAs, before a subscriber's text: a comment in it would hide what comes behind. The server takes them
 * out and leaves the text.
 */
export const loraTags = ({ options, server }: A1111Asked): string =>
  (options.lora ?? [])
    .map(({ file, strength }) => `<lora:${listedFile(server.files?.lora ?? [], file)?.name}:${strength}>`)
    .join('')
