import { drawImage } from '../a1111/images.js'
import type { StandInReply } from '../stand-in-server.js'
import type { SdCppSettings } from './sdcpp-stand-in.js'

/** Faults of what is drawn: a completed job that is not what was asked, or one that fails. */
export type DrawnWrong =
  | 'wrong_size'
  | 'wrong_count'
  | 'wrong_seeds'
  | 'wrong_model'
  | 'wrong_steps'
  | 'default_sampler'
  | 'broken_image'
  /** As with --disable-image-metadata: the images say nothing. */
  | 'no_metadata'
  | 'shuffled'
  | 'fails'
  | 'out_of_memory'

type Status = 'queued' | 'generating' | 'completed' | 'failed' | 'cancelled'

interface Job {
  readonly id: string
  readonly drawn: Drawn
  readonly created: number
  status: Status
  started: number | null
  completed: number | null
  result: object | null
  error: { code: string; message: string } | null
}

interface Drawn {
  readonly prompt: string
  readonly negativePrompt: string
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly cfg: number
  readonly method: string
  readonly scheduler: string
  readonly seed: number
  readonly count: number
  /** Of a second pass. */
  readonly hires: { readonly width: number; readonly height: number; readonly how: unknown } | undefined
  /** What else changes the image. */
  readonly more: readonly unknown[]
}

const seconds = () => Math.floor(Date.now() / 1000)
/** A field of another type is taken for a missing one. */
const number = (value: unknown, otherwise: number) => (typeof value === 'number' ? value : otherwise)
const object = (value: unknown) => (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>

/** The queue of an sd-server: one job at a time, in order; only a waiting one can be canceled. */
export function createJobs(
  settings: SdCppSettings,
  listed: { readonly samplers: readonly string[]; readonly schedulers: readonly string[] },
) {
  const jobs = new Map<string, Job>()
  const queue: Job[] = []
  let running: { job: Job; timer: NodeJS.Timeout | undefined } | undefined
  let next = 0

  const show = (job: Job) => {
    const { id, status, created, started, completed, result, error } = job
    const queue_position = queue.indexOf(job) + 1
    return { completed, created, error, id, kind: 'img_gen', queue_position, result, started, status }
  }

  function submit(text: string): StandInReply {
    if (text === '') return { status: 400, body: { error: 'empty body' } }
    let body: Record<string, unknown>
    try {
      body = JSON.parse(text) as Record<string, unknown>
    } catch {
      const message = '[json.exception.parse_error.101] parse error at line 1, column 2: syntax error'
      return { status: 400, body: { error: 'invalid json', message } }
    }
    const loras = Array.isArray(body.lora) ? body.lora : []
    const hires = object(body.hires)
    const upscalers = ['Lanczos', 'Latent', ...settings.upscalers]
    if (
      loras.some(({ path }) => !settings.loras.includes(path)) ||
      (hires.enabled === true && !upscalers.includes(String(hires.upscaler)))
    )
      return { status: 400, body: { error: 'invalid generation parameters' } }
    const pending = [...jobs.values()].filter(({ status }) => status === 'queued' || status === 'generating')
    if (pending.length >= 64) return { status: 429, body: { error: 'job queue is full' } }
    const created = seconds()
    const id = `job_${created.toString(16)}_${(next++).toString(16).padStart(8, '0')}`
    const job: Job = {
      ...{ id, created, drawn: toDrawn(body), status: 'queued' },
      ...{ started: null, completed: null, result: null, error: null },
    }
    jobs.set(id, job)
    queue.push(job)
    setImmediate(look)
    return { status: 202, body: { created, id, kind: 'img_gen', poll_url: `/sdcpp/v1/jobs/${id}`, status: 'queued' } }
  }

  const roundUp = (size: number) => Math.ceil(size / settings.sizeMultiple) * settings.sizeMultiple || 64

  function hiresOf(body: Record<string, unknown>): Drawn['hires'] {
    const { enabled, scale, target_width, target_height, ...how } = object(body.hires)
    if (enabled !== true) return undefined
    const side = (asked: unknown, target: unknown) =>
      roundUp(number(target, 0) || Math.round(number(asked, 64) * number(scale, 2)))
    return { width: side(body.width, target_width), height: side(body.height, target_height), how }
  }

  function toDrawn(body: Record<string, unknown>): Drawn {
    const sample = object(body.sample_params)
    const known = (names: readonly string[], name: unknown) => names.includes(name as string)
    return {
      prompt: String(body.prompt ?? ''),
      negativePrompt: String(body.negative_prompt ?? ''),
      width: roundUp(number(body.width, 64)),
      height: roundUp(number(body.height, 64)),
      steps: Math.max(1, number(sample.sample_steps, 20)),
      cfg: number(object(sample.guidance).txt_cfg, 7),
      method: known(listed.samplers, sample.sample_method) ? String(sample.sample_method) : 'NONE',
      scheduler: known(listed.schedulers, sample.scheduler) ? ` ${sample.scheduler}` : '',
      seed: number(body.seed, 42),
      count: Math.min(8, Math.max(1, number(body.batch_count, 1))),
      hires: hiresOf(body),
      more: [body.clip_skip, body.lora, sample.flow_shift, object(sample.guidance).distilled_guidance],
    }
  }

  /** Begins the next job, or ends the one that was held, if it is time. */
  function look(): void {
    if (!running) {
      const job = queue.shift()
      if (!job) return
      Object.assign(job, { status: 'generating', started: seconds() })
      running = { job, timer: undefined }
    }
    if (settings.held || running.timer) return
    const { job } = running
    running.timer = setTimeout(() => void end(job), settings.latencyMs * job.drawn.count)
  }

  async function end(job: Job): Promise<void> {
    const { fault } = settings
    const failed =
      fault === 'fails' ? 'generate_image returned no results' : fault === 'out_of_memory' && 'CUDA out of memory'
    const result = failed ? null : { images: await draw(job.drawn), output_format: 'png' }
    if (running?.job !== job) return // forgotten meanwhile
    job.result = result
    job.error = failed ? { code: 'generation_failed', message: failed } : null
    Object.assign(job, { status: failed ? 'failed' : 'completed', completed: seconds() })
    running = undefined
    look()
  }

  async function draw(drawn: Drawn): Promise<object[]> {
    const fault = settings.fault
    const count = drawn.count - (fault === 'wrong_count' ? 1 : 0)
    const images = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const seed = drawn.seed + index + (fault === 'wrong_seeds' ? 1 : 0)
        const png = await drawImage({
          width: (drawn.hires ?? drawn).width + (fault === 'wrong_size' ? 64 : 0),
          height: (drawn.hires ?? drawn).height,
          look: 'finished',
          key: JSON.stringify([{ ...drawn, seed: 0, count: 0 }, seed, settings.model]),
          parameters: parametersOf(drawn, seed),
        })
        const bytes = fault === 'broken_image' ? Buffer.from('not an image') : png
        return { b64_json: bytes.toString('base64'), index }
      }),
    )
    return fault === 'shuffled' ? images.reverse() : images
  }

  function parametersOf(drawn: Drawn, seed: number): string {
    const { fault } = settings
    if (fault === 'no_metadata') return ''
    const { prompt, negativePrompt, width, height, cfg } = drawn
    const model = fault === 'wrong_model' ? 'other.safetensors' : settings.model
    const steps = drawn.steps + (fault === 'wrong_steps' ? 1 : 0)
    const sampler = fault === 'default_sampler' ? 'NONE karras' : `${drawn.method}${drawn.scheduler}`
    const json = JSON.stringify({ height, prompt: { negative: negativePrompt, positive: prompt }, width })
    const line = [
      ...[`Steps: ${steps}`, `CFG scale: ${cfg.toFixed(6)}`, 'Guidance: 3.500000', 'Eta: inf', `Seed: ${seed}`],
      ...[`Size: ${width}x${height}`, `Model: ${model}`, 'RNG: cuda', `Sampler: ${sampler}`],
      ...['Version: stable-diffusion.cpp', `SDCPP: ${json}`],
    ].join(', ')
    return `${prompt}\n${negativePrompt && `Negative prompt: ${negativePrompt}\n`}${line}`
  }

  const found = (id: string, answer: (job: Job) => StandInReply): StandInReply => {
    const job = jobs.get(id)
    return job ? answer(job) : { status: 404, body: { error: 'job not found' } }
  }

  return {
    submit,
    look,
    show: (id: string) => found(id, (job) => ({ status: 200, body: show(job) })),
    cancel: (id: string) =>
      found(id, (job) => {
        if (job.status === 'generating')
          return { status: 409, body: { error: 'job is currently generating and cannot be interrupted yet' } }
        if (job.status === 'queued') markCanceled(job)
        return { status: 200, body: show(job) }
      }),
    /** Cancels the job that is drawn, as an operator could. */
    cancelRunning: () => {
      if (running) markCanceled(running.job)
      clearTimeout(running?.timer)
      running = undefined
      look()
    },
    /** What a restart leaves: nothing. */
    forget: () => {
      clearTimeout(running?.timer)
      running = undefined
      queue.length = 0
      jobs.clear()
    },
    /** Of all jobs, oldest first. */
    statuses: (): Status[] => [...jobs.values()].map(({ status }) => status),
  }

  function markCanceled(job: Job): void {
    if (queue.includes(job)) queue.splice(queue.indexOf(job), 1)
    job.error = { code: 'cancelled', message: 'job cancelled by client' }
    Object.assign(job, { status: 'cancelled', completed: seconds() })
  }
}

export type Jobs = ReturnType<typeof createJobs>
