import { type Drawing, modelListing, type StandInModel, stem } from './dialects.js'

/** What a server has besides checkpoints. */
export interface StandInFiles {
  readonly vae: readonly string[]
  readonly lora: readonly string[]
  readonly upscaler: readonly string[]
  /** Forge's VAEs and text encoders. */
  readonly modules: readonly string[]
  /** The listings that fail, such as `loras`. */
  readonly broken: readonly string[]
}

type Options = Record<string, unknown>

/**
 * The settings of a server, and the checkpoint that it has loaded. An inference may override them, and they stay so unless
 * it has them restored: as modules/processing.py of each of the servers does it.
 */
export function createSettings(dialect: Drawing, models: readonly StandInModel[], files: StandInFiles) {
  const titleOf = (model: StandInModel) => String(modelListing(dialect, model).title)
  let loaded = models[0] as StandInModel
  let loads = 0
  const options: Options = {
    sd_model_checkpoint: titleOf(loaded),
    ...(dialect === 'forge' ? { forge_additional_modules: [] } : { sd_vae: 'Automatic' }),
    // SD.Next has a field of the request instead.
    ...(dialect !== 'sdnext' && { CLIP_stop_at_last_layers: 1 }),
    ...(dialect === 'sdnext' && { schedulers_sigma: 'default' }),
    samples_format: dialect === 'sdnext' ? 'jpg' : 'png',
  }

  const known = (name: unknown) =>
    models.find((model) => {
      const { title, model_name } = modelListing(dialect, model)
      return [title, model_name, model.filename, model.hash].includes(name as string)
    })

  function load(name: unknown): void {
    const model = known(name)
    if (!model || model === loaded) return
    loaded = model
    loads++
  }

  function set(name: string, value: unknown): void {
    options[name] = name === 'forge_additional_modules' ? modulesIn(value) : value
    if (name === 'sd_model_checkpoint') load(value)
  }

  /** Forge drops those that it does not have. */
  const modulesIn = (value: unknown) =>
    (value as string[]).flatMap((path) => {
      const name = path.replace(/^.*[\\/]/, '')
      return files.modules.includes(name) ? [`/srv/vae/${name}`] : []
    })

  return {
    options: () => options,
    known,
    loaded: () => loaded,
    loads: () => loads,
    set: (changes: Options) => {
      for (const [name, value] of Object.entries(changes)) set(name, value)
    },
    other: () => models.find((model) => model !== loaded) ?? { filename: 'other.safetensors', hash: '0123456789' },
    /** Applies what an inference overrides; returns what restores it. */
    override({ ...overrides }: Options): () => void {
      if (!known(overrides.sd_model_checkpoint)) {
        delete overrides.sd_model_checkpoint
        load(options.sd_model_checkpoint)
      }
      if (dialect === 'sdnext')
        for (const name of Object.keys(overrides)) if (options[name] === overrides[name]) delete overrides[name]
      const stored = Object.keys(overrides).map((name) => [name, options[name]] as const)
      for (const [name, value] of Object.entries(overrides)) set(name, value)
      return () => {
        for (const [name, value] of stored) {
          // A1111 and Forge load the checkpoint only when it is drawn with again.
          if (name === 'sd_model_checkpoint' && (dialect === 'a1111' || dialect === 'forge')) options[name] = value
          else set(name, value)
        }
      }
    },
    /** The name of an option that the server does not know. */
    unknownIn: (overrides: Options) => Object.keys(overrides).find((name) => !(name in options)),
    /** What of the settings an image shows, as the infotext has it. */
    drawnWith(): string[] {
      const { sd_vae, CLIP_stop_at_last_layers: skip, forge_additional_modules: modules = [] } = options
      const vae = files.vae.find((file) => file === sd_vae)
      return [
        ...(vae ? [`VAE: ${dialect === 'sdnext' ? stem(vae) : vae}`] : []),
        ...(Number(skip ?? 1) > 1 ? [`Clip skip: ${skip}`] : []),
        ...(modules as string[]).map((path, n) => `Module ${n + 1}: ${stem(path.replace(/^.*\//, ''))}`),
      ]
    },
  }
}
