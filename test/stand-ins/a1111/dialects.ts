/** What each kind of /sdapi server lists and reports, as its own code and recorded exchanges have it; sd-server only lists. */
export type StandInDialect = Drawing | 'sdcpp'
export type Drawing = 'a1111' | 'forge' | 'legacy' | 'sdnext'

const A1111_SAMPLERS = [
  ...['DPM++ 2M', 'DPM++ SDE', 'DPM++ 2M SDE', 'DPM++ 2M SDE Heun', 'DPM++ 2S a', 'DPM++ 3M SDE', 'Euler a', 'Euler'],
  ...['LMS', 'Heun', 'DPM2', 'DPM2 a', 'DPM fast', 'DPM adaptive', 'Restart', 'DDIM', 'DDIM CFG++', 'PLMS', 'UniPC'],
  'LCM',
]

const LEGACY_SAMPLERS = [
  ...[
    'DPM++ 2M Karras',
    'DPM++ SDE Karras',
    'DPM++ 2M SDE Exponential',
    'DPM++ 2M SDE Karras',
    'Euler a',
    'Euler',
    'LMS',
  ],
  ...['Heun', 'DPM2', 'DPM2 a', 'DPM++ 2S a', 'DPM++ 2M', 'DPM++ SDE', 'DPM++ 2M SDE', 'DPM fast', 'DPM adaptive'],
  ...['LMS Karras', 'DPM2 Karras', 'DPM2 a Karras', 'DPM++ 2S a Karras', 'Restart', 'DDIM', 'PLMS', 'UniPC'],
]

const SDNEXT_SAMPLERS = [
  ...['UniPC', 'DDIM', 'Euler', 'Euler a', 'Euler SGM', 'Euler EDM', 'DPM++', 'DPM++ 2M', 'DPM++ 3M', 'DPM++ 1S'],
  ...['DPM++ SDE', 'DPM++ 2M SDE', 'DPM SDE', 'Heun', 'DEIS', 'SA Solver', 'PNDM', 'IPNDM', 'DDPM', 'LMSD', 'KDPM2'],
  'KDPM2 a',
]

const SDCPP_SAMPLERS = [
  ...[
    'default',
    'euler',
    'euler_a',
    'heun',
    'dpm2',
    'dpm++2s_a',
    'dpm++2m',
    'dpm++2mv2',
    'dpm++2m_sde',
    'dpm++2m_sde_bt',
  ],
  ...['ipndm', 'ipndm_v', 'lcm', 'ddim_trailing', 'tcd', 'res_multistep', 'res_2s', 'lms'],
]

const SAMPLERS: Record<StandInDialect, readonly string[]> = {
  a1111: A1111_SAMPLERS,
  forge: [...A1111_SAMPLERS, 'DDPM', 'HeunPP2', 'IPNDM', 'IPNDM_V', 'DEIS'],
  legacy: LEGACY_SAMPLERS,
  sdnext: SDNEXT_SAMPLERS,
  sdcpp: SDCPP_SAMPLERS,
}

const A1111_SCHEDULES = [
  ...['Automatic', 'Uniform', 'Karras', 'Exponential', 'Polyexponential', 'SGM Uniform', 'KL Optimal'],
  ...['Align Your Steps', 'Simple', 'Normal', 'DDIM', 'Beta'],
]
const SDCPP_SCHEDULES = [
  'default',
  'discrete',
  'normal',
  'karras',
  'exponential',
  'ays',
  'gits',
  'sgm_uniform',
  'simple',
]

export const samplersOf = (dialect: StandInDialect) => SAMPLERS[dialect]

export const samplerListing = (dialect: StandInDialect) =>
  SAMPLERS[dialect].map((name) =>
    dialect === 'sdnext' ? { name, options: {} } : { name, aliases: dialect === 'sdcpp' ? [name] : [], options: {} },
  )

/** Undefined: the endpoint does not exist. */
export function scheduleListing(dialect: StandInDialect): object[] | undefined {
  if (dialect === 'legacy') return undefined
  if (dialect === 'sdnext') return SDNEXT_SAMPLERS.map((name) => ({ name, cls: name, options: {} }))
  if (dialect === 'sdcpp') return SDCPP_SCHEDULES.map((name) => ({ name, label: name }))
  return A1111_SCHEDULES.map((label) => ({
    name: label.toLowerCase().replaceAll(' ', '_'),
    label,
    aliases: null,
    default_rho: -1,
    need_inner_model: false,
  }))
}

export interface StandInModel {
  readonly filename: string
  readonly hash: string
}

export const stem = (filename: string) => filename.replace(/\.[a-z]+$/, '')

export function modelListing(dialect: StandInDialect, { filename, hash }: StandInModel): Record<string, unknown> {
  if (dialect === 'sdcpp')
    return {
      title: stem(filename),
      model_name: stem(filename),
      filename,
      hash: '8888888888',
      sha256: '8'.repeat(64),
      config: null,
    }
  return {
    title: `${filename} [${hash}]`,
    model_name: stem(filename),
    hash,
    sha256: hash.padEnd(64, '0'),
    // Windows hosts list backslashes; Forge is the one that is run there most.
    filename: dialect === 'forge' ? `C:\\webui\\models\\Stable-diffusion\\${filename}` : `/srv/models/${filename}`,
    ...(dialect === 'sdnext' && { type: 'SafeTensors' }),
    config: null,
  }
}

export interface Drawn {
  readonly prompt: string
  readonly negativePrompt: string
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly cfgScale: number
  readonly sampler: string
  readonly schedule: string | undefined
  readonly seeds: readonly number[]
  readonly model: StandInModel
  /** Further `Key: value` pairs of the infotext. */
  readonly more: readonly string[]
}

/** The text that goes into `infotexts` and the image's `parameters` chunk. */
export function infotextOf(dialect: Drawing, drawn: Drawn, n: number): string {
  const { prompt, negativePrompt, steps, cfgScale, sampler, schedule, width, height, model } = drawn
  const size = `Size: ${width}x${height}`
  const line: Record<Drawing, string[]> = {
    a1111: [
      `Sampler: ${sampler}`,
      `Schedule type: ${schedule}`,
      `CFG scale: ${cfgScale}`,
      `Seed: ${drawn.seeds[n]}`,
      size,
    ],
    forge: [
      `Sampler: ${sampler}`,
      `Schedule type: ${schedule}`,
      `CFG scale: ${cfgScale}`,
      `Seed: ${drawn.seeds[n]}`,
      size,
    ],
    legacy: [`Sampler: ${sampler}`, `CFG scale: ${cfgScale}`, `Seed: ${drawn.seeds[n]}`, size],
    sdnext: [size, `Sampler: ${sampler}`, `Seed: ${drawn.seeds[n]}`, `CFG scale: ${cfgScale}`, 'App: SD.Next'],
  }
  const tail: Record<Drawing, string[]> = {
    a1111: [`Model hash: ${model.hash}`, `Model: ${stem(model.filename)}`, 'Version: v1.10.1'],
    forge: [`Model hash: ${model.hash}`, `Model: ${stem(model.filename)}`, 'Version: f2.0.1v1.10.1'],
    legacy: [`Model hash: ${model.hash}`, `Model: ${stem(model.filename)}`, 'Version: v1.7.0'],
    sdnext: [
      `Model: ${stem(model.filename)}`,
      `Model hash: ${model.hash}`,
      ...(schedule && schedule !== 'default' ? [`Sampler sigma: ${schedule}`] : []),
    ],
  }
  const negative = negativePrompt ? `\nNegative prompt: ${negativePrompt}` : ''
  return `${prompt}${negative}\n${[`Steps: ${steps}`, ...line[dialect], ...drawn.more, ...tail[dialect]].join(', ')}`
}

/** The `info` of a reply; the field is this, as a JSON string. */
export function infoOf(dialect: Drawing, drawn: Drawn): Record<string, unknown> {
  const { prompt, negativePrompt, seeds, width, height, steps, cfgScale, sampler, schedule, model } = drawn
  const shared = {
    prompt,
    all_prompts: seeds.map(() => prompt),
    negative_prompt: negativePrompt,
    all_negative_prompts: seeds.map(() => negativePrompt),
    seed: seeds[0],
    all_seeds: seeds,
    width,
    height,
    sampler_name: sampler,
    cfg_scale: cfgScale,
    steps,
    infotexts: seeds.map((_, n) => infotextOf(dialect, drawn, n)),
    extra_generation_params:
      schedule && dialect !== 'legacy' && dialect !== 'sdnext' ? { 'Schedule type': schedule } : {},
  }
  return {
    ...shared,
    batch_size: seeds.length,
    ...(dialect !== 'sdnext' && { sd_model_name: stem(model.filename), version: 'v1.10.1' }),
    sd_model_hash: model.hash,
    index_of_first_image: 0,
  }
}

/** The error body of A1111's exception handler; Forge has none of its own and leaves FastAPI's. */
export function errorBody(dialect: StandInDialect, status: number, error: string, detail: string): object {
  if (dialect === 'forge') return { detail }
  return { error, ...(dialect === 'sdnext' && { code: status }), detail, body: '', errors: '' }
}
