/** How a checkpoint is drawn with, where its file name does not say enough: the operator types it, `easel models import` checks it. */
import { z } from 'zod'
import type { ModelDefinition } from '../core/catalog/model-definition.js'
import { isLine } from '../lib/text.js'
import { documentOf } from './definition-document.js'

const FILE = 'must be a file name without a folder, and without < > : = # { } | * /'
const file = z.string(FILE).refine((name) => isLine(name, 255) && !/[<>:=#{}|*/\\]/.test(name), FILE)
const files = z
  .array(file, 'must be a list of file names')
  .min(1, 'must have a file')
  .max(8, 'must have at most 8 files')
const number = (min: number, max: number, says = `must be a number from ${min} to ${max}`) =>
  z.number(says).min(min, says).max(max, says)
const whole = (min: number, max: number, says = `must be a whole number from ${min} to ${max}`) =>
  z.int(says).min(min, says).max(max, says)

const SCALE = 'must be a number above 1 and up to 4'
const UPSCALER = 'must be the name of an upscaler'
const LORA = 'must be a list of {"file": …, "strength": …}'

/** A server draws with options only if it takes each of them, and has each file that they name. */
export const checkpointOptions = z
  .strictObject(
    {
      /** The VAE's file. AUTOMATIC1111, SD.Next, Forge (as one of its modules); sd-server is started with one. */
      vae: file.optional(),
      /** The layer of CLIP, from the last, whose result counts; 1 is the last. AUTOMATIC1111, Forge, SD.Next, sd-server. */
      clip_skip: whole(1, 12).optional(),
      /** LoRAs, each with the factor of its effect. AUTOMATIC1111, Forge, SD.Next, sd-server. */
      lora: z
        .array(z.strictObject({ file, strength: number(-10, 10) }, LORA), LORA)
        .min(1, LORA)
        .max(8, 'must have at most 8 LoRAs')
        .optional(),
      /**
       * A second pass on the enlarged image. `scale`: its width and height as multiples of those asked for; `upscaler`:
       * the server's name for what enlarges it; `steps`: of the second pass, without it those of the first;
       * `denoising_strength`: how much of the image it draws anew, 0 to 1. AUTOMATIC1111, Forge, SD.Next, sd-server.
       */
      hires: z
        .strictObject(
          {
            scale: z.number(SCALE).gt(1, SCALE).max(4, SCALE),
            upscaler: z.string(UPSCALER).refine((name) => isLine(name, 255) && name !== 'None', UPSCALER),
            steps: whole(1, 150).optional(),
            denoising_strength: number(0.01, 1),
          },
          'must be {"scale": …, "upscaler": …, "denoising_strength": …}, and "steps" if those of the second pass differ',
        )
        .optional(),
      /** Files of text encoders and VAEs that the checkpoint is drawn with. Forge. */
      forge_additional_modules: files.optional(),
      /** The guidance of a distilled model such as Flux. Forge. */
      distilled_cfg_scale: number(0, 100).optional(),
      /** The same on sd-server. */
      distilled_guidance: number(0, 100).optional(),
      /** The guidance by a negative prompt where `cfg_scale` is a distilled one, as on Qwen-Image. vLLM-Omni, SGLang, SD.Next. */
      true_cfg_scale: number(0, 20).optional(),
      /** How far the noise schedule of a flow model is shifted. sd-server, SD.Next, and vLLM-Omni and SGLang from 2026 on. */
      flow_shift: number(0, 100).optional(),
    },
    'must be an object of options',
  )
  .refine((options) => Object.keys(options).length > 0, 'must have an option')

export type CheckpointOptions = z.output<typeof checkpointOptions>
export type OptionName = keyof CheckpointOptions

/** A model's checkpoint and options, as they are stored. */
export interface CheckpointDocument {
  readonly kind: 'checkpoint'
  /** The checkpoint's file name. */
  readonly checkpoint: string
  readonly options: CheckpointOptions
}

/** A definition that is a checkpoint with options; undefined where it is of another kind. */
export function checkpointOf(definition: ModelDefinition): CheckpointDocument | undefined {
  const document = documentOf(definition)
  return document.kind === 'checkpoint' ? (document as CheckpointDocument) : undefined
}

/** The options of all definitions that have some. */
export const optionsIn = (definitions: readonly ModelDefinition[]): CheckpointOptions[] =>
  definitions.flatMap((definition) => checkpointOf(definition)?.options ?? [])

/** The checkpoints with which these model versions are drawn; of other definitions it is not known. */
export function checkpointsOf(filenames: readonly string[], definitions: readonly ModelDefinition[]): string[] {
  const known = new Map(definitions.map((definition) => [definition.filename, definition]))
  return filenames.flatMap((filename) => {
    const definition = known.get(filename)
    return definition ? (checkpointOf(definition)?.checkpoint ?? []) : filename
  })
}

/** A sentence for each option that is not among those that a server takes; `why`: what it takes instead of one. */
export function notTaken(
  options: CheckpointOptions,
  taken: readonly OptionName[],
  why: Partial<Record<OptionName, string>> = {},
): string[] {
  const names = Object.keys(options) as OptionName[]
  return names
    .filter((name) => !taken.includes(name))
    .map((name) => `It does not take ${name}${why[name] ? `: ${why[name]}` : ''}.`)
}

/** The file that a server lists, by its name with or without folder and ending; undefined where it lists none. */
export function listedFile<T extends { readonly name: string; readonly path?: string | null | undefined }>(
  listed: readonly T[],
  file: string,
): T | undefined {
  const base = (path: string) => path.replace(/^.*[\\/]/, '')
  return (
    listed.find(({ name, path }) => base(path ?? name) === file) ??
    listed.find(({ name, path }) => !path && name === file.replace(/\.[^.]*$/, ''))
  )
}
