import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import sharp from 'sharp'
import {
  type Drawing,
  type Drawn,
  errorBody,
  infoOf,
  infotextOf,
  type StandInModel,
  samplersOf,
  scheduleListing,
} from './dialects.js'
import type { Fault, StandInSettings } from './faults.js'
import { drawImage } from './images.js'
import { readPrompt } from './prompts.js'
import { createSettings, type StandInFiles } from './settings.js'

export interface Reply {
  readonly status: number
  readonly body: unknown
}

interface Job {
  readonly task: string
  readonly steps: number
  readonly startedAt: number
  readonly takesMs: number
}

type Body = Record<string, unknown>

/** The part of a server that there is one of: the lock, the loaded checkpoint, and the state that progress shows. */
export function createGpu(
  dialect: Drawing,
  models: readonly StandInModel[],
  files: StandInFiles,
  settings: StandInSettings,
) {
  const own = createSettings(dialect, models, files)
  let queue: Promise<unknown> = Promise.resolve()
  let job: Job | undefined
  let interrupted = false
  let stop = new AbortController()
  const count = { here: 0, now: 0, most: 0 }
  const named: string[] = []

  /** Validation comes before the lock, as in the real servers. */
  async function txt2img(text: string, fault: Exclude<Fault, object>): Promise<Reply> {
    let body: Body
    try {
      body = JSON.parse(text) as Body
    } catch {
      const detail = [{ loc: ['body'], msg: 'Expecting value', type: 'value_error.jsondecode' }]
      return { status: 422, body: { detail } }
    }
    const refused = refusal(body)
    if (refused) return refused
    count.here++
    const turn = queue.then(() => run(body, fault)).finally(() => count.here--)
    queue = turn.catch(() => undefined)
    return turn
  }

  function refusal(body: Body): Reply | undefined {
    for (const field of ['width', 'height', 'steps', 'seed', 'batch_size']) {
      if (body[field] === undefined || Number.isInteger(body[field])) continue
      const detail = [{ loc: ['body', field], msg: 'value is not a valid integer', type: 'type_error.integer' }]
      return { status: 422, body: { detail } }
    }
    const strict = dialect === 'legacy' || dialect === 'sdnext'
    if (strict && !samplersOf(dialect).includes(body.sampler_name as string))
      return { status: 404, body: errorBody(dialect, 404, 'HTTPException', 'Sampler not found') }
    const checkpoint = overrides(body).sd_model_checkpoint
    if (dialect === 'forge' && checkpoint !== undefined && !own.known(checkpoint))
      return { status: 500, body: 'Internal Server Error' }
    const failed = (error: string, errors: string): Reply => ({
      status: 500,
      body: dialect === 'forge' ? 'Internal Server Error' : { error, detail: '', body: '', errors },
    })
    const unknown = own.unknownIn(overrides(body))
    if (unknown && (dialect === 'a1111' || dialect === 'legacy')) return failed('KeyError', `'${unknown}'`)
    if (!body.enable_hr) return undefined
    if (dialect === 'forge' && !Array.isArray(body.hr_additional_modules))
      return failed('TypeError', "argument of type 'NoneType' is not iterable")
    if (![...LATENT, 'None', 'Lanczos', ...files.upscaler].includes(body.hr_upscaler as string))
      return failed('Exception', `could not find upscaler named ${body.hr_upscaler}`)
    return undefined
  }

  async function run(body: Body, fault: Exclude<Fault, object>): Promise<Reply> {
    count.most = Math.max(count.most, ++count.now)
    if (dialect === 'sdnext' && !settings.loaded) {
      count.now--
      return { status: 200, body: { images: [], parameters: body, info: '' } }
    }
    const before = own.loaded()
    const restore = own.override(overrides(body))
    const drawn = toDrawn(body, fault)
    interrupted = false
    stop = new AbortController()
    if (own.loaded() !== before && settings.swapMs > 0)
      await delay(settings.swapMs, undefined, { signal: stop.signal }).catch(() => undefined)
    job = {
      task: String(body.force_task_id ?? ''),
      steps: drawn.steps,
      startedAt: Date.now(),
      takesMs: settings.latencyMs * drawn.seeds.length,
    }
    try {
      if (job.takesMs > 0) await delay(job.takesMs, undefined, { signal: stop.signal }).catch(() => undefined)
      while ((settings.held === true || settings.held === body.seed) && !stop.signal.aborted) await delay(5)
      // Before the images are encoded.
      if (body.override_settings_restore_afterwards !== false) restore()
      return { status: 200, body: await reply(body, drawn, fault) }
    } finally {
      job = undefined
      count.now--
    }
  }

  /** Only the prompt's own files are loaded: in a negative prompt the rest is text. */
  function textsOf({ prompt = '', negative_prompt = '' }: Body) {
    const read = readPrompt(dialect, String(prompt))
    const negative = readPrompt(dialect, String(negative_prompt))
    const ofNegative = negative.files.filter((file) => file.startsWith('wildcard:'))
    named.push(...read.files, ...ofNegative)
    return [read.text, ...read.files, String(negative_prompt), ...ofNegative]
  }

  function toDrawn(body: Body, fault: string): Drawn {
    const batch = Math.max(1, Number(body.batch_size ?? 1)) - (fault === 'wrong_count' ? 1 : 0)
    const seed = keptSeed(Number(body.seed ?? -1) + (fault === 'wrong_seeds' ? 1 : 0))
    const isKnown = samplersOf(dialect).includes(body.sampler_name as string) && fault !== 'default_sampler'
    return {
      prompt: String(body.prompt ?? ''),
      negativePrompt: String(body.negative_prompt ?? ''),
      width: enlarged(body, Number(body.width ?? 512)) + (fault === 'wrong_size' ? 64 : 0),
      height: enlarged(body, Number(body.height ?? 512)),
      steps: Number(body.steps ?? 20),
      cfgScale: Number(body.cfg_scale ?? 7),
      sampler: isKnown ? String(body.sampler_name) : (samplersOf(dialect)[0] as string),
      schedule: schedule(body),
      seeds: Array.from({ length: batch }, (_, n) => seed + n),
      model: fault === 'wrong_model' ? own.other() : own.loaded(),
      more: fault === 'other_vae' ? ['VAE: other.safetensors', 'Module 1: other'] : own.drawnWith(),
    }
  }

  /** The second pass draws whole latents. SD.Next enlarges nothing unless it is told how. */
  const enlarged = (body: Body, side: number) =>
    !body.enable_hr || (dialect === 'sdnext' && !body.hr_resize_mode)
      ? side
      : Math.floor(Math.trunc(side * Number(body.hr_scale ?? 2)) / 8) * 8

  /** Of a request, what only some kinds of servers know. */
  const ofKind = (body: Body) =>
    [
      ...(dialect === 'sdnext' ? ['clip_skip', 'cfg_true', 'schedulers_shift', 'hr_force'] : []),
      ...(dialect === 'forge' ? ['distilled_cfg_scale', 'hr_cfg', 'hr_distilled_cfg'] : []),
      ...(body.enable_hr ? ['hr_scale', 'hr_upscaler', 'hr_second_pass_steps', 'denoising_strength'] : []),
    ].map((name) => body[name])

  const keptSeed = (seed: number) => (seed < 0 ? Math.floor(Math.random() * 2 ** 31) : seed)

  function schedule(body: Body): string | undefined {
    if (dialect === 'sdnext') return String(own.options().schedulers_sigma)
    const listed = scheduleListing(dialect)?.some((entry) => Object.values(entry).includes(body.scheduler as string))
    return listed ? String(body.scheduler) : dialect === 'legacy' ? undefined : 'Automatic'
  }

  async function reply(body: Body, drawn: Drawn, fault: string) {
    const { width, height, steps, cfgScale, sampler, model } = drawn
    const texts = textsOf(body)
    const look = fault === 'black' ? 'black' : interrupted ? 'unfinished' : 'finished'
    const pngs = await Promise.all(
      drawn.seeds.map((seed, n) =>
        drawImage({
          width,
          height,
          look,
          key: JSON.stringify([
            texts,
            seed,
            model.filename,
            width,
            height,
            steps,
            cfgScale,
            sampler,
            drawn.schedule,
            drawn.more,
            ...ofKind(body),
          ]),
          parameters: infotextOf(dialect, drawn, n),
        }),
      ),
    )
    const encoded = await Promise.all(
      pngs.map((png) => (own.options().samples_format === 'jpg' ? sharp(png).jpeg().toBuffer() : png)),
    )
    const images = encoded.map(
      (png) => `${fault === 'data_urls' ? 'data:image/png;base64,' : ''}${png.toString('base64')}`,
    )
    const info = infoOf(dialect, drawn)
    if (fault === 'broken_image') images[0] = Buffer.from('not an image').toString('base64')
    if (fault === 'grid_and_extra' && images[0]) {
      const grid = await drawImage({ width: width * 2, height, look, key: 'grid', parameters: '' })
      images.unshift(grid.toString('base64'))
      images.push(grid.toString('base64'))
      ;(info.infotexts as string[]).unshift(infotextOf(dialect, drawn, 0))
      info.index_of_first_image = 1
    }
    return { images, parameters: body, info: JSON.stringify(info) }
  }

  function progress(showsImage: boolean): object {
    const most = job && settings.held !== false ? Math.floor(job.steps / 2) : job?.steps
    const step =
      job && most !== undefined
        ? Math.min(most, Math.floor(((Date.now() - job.startedAt) / Math.max(1, job.takesMs)) * job.steps))
        : 0
    return {
      // Its own, and another one for each phase of a drawing: it does not keep the request's.
      ...(dialect === 'sdnext' && { id: job ? randomUUID().replaceAll('-', '').slice(0, 15) : '' }),
      progress: job ? Math.min(1, 0.01 + step / job.steps) : 0,
      eta_relative: 0,
      state: {
        skipped: false,
        interrupted,
        job: job ? 'scripts_txt2img' : '',
        job_count: job ? 1 : 0,
        job_no: 0,
        sampling_step: step,
        sampling_steps: job?.steps ?? 0,
      },
      current_image: job && showsImage ? settings.currentImage : null,
      textinfo: null,
      ...((dialect === 'a1111' || dialect === 'forge') && { current_task: job?.task || null }),
    }
  }

  return {
    txt2img,
    progress,
    /** Only the running job is stopped; a flag set before it begins is forgotten when it does. */
    interrupt: () => {
      interrupted = true
      stop.abort()
    },
    setOptions: (changes: Body) => {
      if (own.known(changes.sd_model_checkpoint)) settings.loaded = true
      own.set(changes)
    },
    options: own.options,
    loaded: () => own.loaded().filename,
    loads: own.loads,
    files: () => named,
    jobs: () => count.here,
    mostAtOnce: () => count.most,
    close: () => stop.abort(),
  }
}

const LATENT = ['Latent', 'Latent (bicubic)']

export type Gpu = ReturnType<typeof createGpu>

const overrides = (body: Body) => (body.override_settings ?? {}) as Body
