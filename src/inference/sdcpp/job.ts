import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { linkedSignal, timeLimit, windUp } from '../../abort-signals.js'
import { BackendError, type InferredImage } from '../../generation/run/backend.js'
import { type Bad, badOutput, failure } from '../backend-failure.js'
import { drawnImage, type Fields, fieldsOf } from '../drawn-image.js'
import type { Asked, Call } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import { jsonReply, publicWords } from '../server-reply.js'

/** A longer answer about a job holds its images; others are short. */
const LONGEST_WITHOUT_IMAGES = 16 * 1024
/** After so many failed polls in a row the job counts as lost. */
const MAX_FAILED_POLLS = 3

/** One job. Its seeds are consecutive: the server draws image n with the first seed + n. */
type SdCppAsked = Asked<{ readonly name: string }>

interface JobTimes {
  /** How long an answer may take to begin: the server has it in memory. Its images have no limit. */
  readonly answerMs: number
  /** Between two polls of the job. */
  readonly pollIntervalMs: number
  /** How long canceling may take. */
  readonly cancelGraceMs: number
}

const job = z.object({
  /** From 1, while it is queued. */
  queue_position: z.int().nullish(),
  status: z.enum(['queued', 'generating', 'completed', 'failed', 'cancelled']),
  result: z.object({ images: z.array(z.object({ index: z.int(), b64_json: z.string() })) }).nullish(),
  error: z.object({ message: z.string().nullish() }).nullish(),
})
type Job = z.infer<typeof job>

/**
 * One job, from its submission to its images. The server draws one job at a time and can't be interrupted, so `waiting`
 * reports the queue, in which a job that was canceled while it was drawn may come first.
 * @throws BackendError; the signal's reason when it aborted
 */
export async function infer(
  http: ServerHttp,
  asked: SdCppAsked,
  call: Call,
  times: JobTimes,
): Promise<InferredImage[]> {
  return readResult(await runJob(http, asked, call, times), asked)
}

/** Returns the ended job, succeeded or not. */
async function runJob(http: ServerHttp, asked: SdCppAsked, call: Call, times: JobTimes): Promise<Job> {
  const id = await submit(http, asked, times, call.stop)
  const path = `/sdcpp/v1/jobs/${encodeURIComponent(id)}`
  try {
    const ended = await untilEnded(call, times, http.name, () => poll(http, path, asked, call, times.answerMs))
    call.drawn()
    return ended
  } catch (error) {
    // Nothing waits for the job any more. The server drops it if it is queued, and goes on if it is being drawn.
    await http.post(`${path}/cancel`, {}, AbortSignal.timeout(times.cancelGraceMs)).catch(() => undefined)
    throw error
  }
}

/** The body of POST /sdcpp/v1/img_gen. */
const imgGenBody = ({ request, sampler, seeds }: SdCppAsked) => ({
  prompt: request.prompt,
  negative_prompt: request.negativePrompt,
  width: request.width,
  height: request.height,
  seed: seeds[0],
  batch_count: seeds.length,
  sample_params: {
    sample_method: sampler.name,
    scheduler: sampler.schedule,
    sample_steps: request.steps,
    guidance: { txt_cfg: request.cfgScale },
  },
  output_format: 'png',
})

const acceptedJob = z.object({ id: z.string().min(1) })

/** Returns the job's id. A job whose id is lost can't be canceled, so an abort leaves the answer its grace. */
async function submit(http: ServerHttp, asked: SdCppAsked, times: JobTimes, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const grace = windUp(signal, times.cancelGraceMs)
  const limit = timeLimit(grace.signal, times.answerMs)
  try {
    const reply = await http.post('/sdcpp/v1/img_gen', imgGenBody(asked), limit.signal)
    return jsonReply(http.name, reply, acceptedJob, { status: 202, prompts: promptsOf(asked) }).id
  } catch (error) {
    throw limit.isOver() ? failure('lost', `${http.name} did not say whether it took the job`) : error
  } finally {
    limit.clear()
    grace.clear()
  }
}

const promptsOf = ({ request }: SdCppAsked) => [request.prompt, request.negativePrompt]

async function untilEnded(
  { stop, waiting }: Call,
  { pollIntervalMs }: JobTimes,
  server: string,
  poll: () => Promise<Job | undefined>,
): Promise<Job> {
  for (let failedPolls = 0; ; ) {
    await delay(pollIntervalMs, undefined, { signal: stop }).catch(() => undefined)
    stop.throwIfAborted()
    let seen: Job | undefined
    try {
      seen = await poll()
      failedPolls = 0
    } catch (error) {
      stop.throwIfAborted()
      if (!isTemporary(error)) throw error
      if (++failedPolls === MAX_FAILED_POLLS) throw failure('lost', `${server} went away with the job: ${error}`, error)
      continue
    }
    if (!seen) throw failure('lost', `${server} does not know the job it took: it was restarted or replaced`)
    if (seen.status === 'queued') waiting(Math.max(1, seen.queue_position ?? 1))
    else if (seen.status === 'generating') waiting(0)
    else return seen
  }
}

/** The job, or undefined where the server does not know it. */
async function poll(
  http: ServerHttp,
  path: string,
  asked: SdCppAsked,
  { stop, waiting, drawn }: Call,
  answerMs: number,
): Promise<Job | undefined> {
  const late = new AbortController()
  const silent = () => failure('lost', `${http.name} did not answer within ${answerMs} ms`)
  const timer = setTimeout(() => late.abort(silent()), answerMs)
  const { signal, clear } = linkedSignal([stop, late.signal])
  try {
    const reply = await http.get(path, signal, (status, length) => {
      if (length !== undefined && length <= LONGEST_WITHOUT_IMAGES) return
      // No limit for megabytes on a slow line: cut off and requested again they would never arrive.
      clearTimeout(timer)
      if (status !== 200 || length === undefined) return
      waiting(0)
      drawn()
    })
    if (reply.status === 404 || reply.status === 410) return undefined
    return jsonReply(http.name, reply, job, { prompts: promptsOf(asked) })
  } finally {
    clearTimeout(timer)
    clear()
  }
}

/** Whether the next poll may succeed: there was no answer in time, or none at all. */
const isTemporary = (error: unknown) =>
  !(error instanceof BackendError) || error.kind === 'unavailable' || error.kind === 'lost'

/**
 * The verified images of a job that has ended. Only the images say how they were drawn, unless the server was started
 * without that.
 * @throws BackendError `bad_output`, `model_missing` when another checkpoint drew them, or why there are none
 */
async function readResult({ status, result, error }: Job, asked: SdCppAsked): Promise<InferredImage[]> {
  const { server, request, sampler, seeds } = asked
  if (status === 'cancelled') throw failure('backend_fault', `${server.name}: the job was canceled by someone else`)
  if (status === 'failed') {
    const words = publicWords(error?.message ?? '', promptsOf(asked))
    throw failure(/out of memory/i.test(words) ? 'oom' : 'backend_fault', `${server.name} failed: ${words}`)
  }
  const bad = badOutput(server.name)
  const images = [...(result?.images ?? [])].sort((one, other) => one.index - other.index)
  if (images.length !== seeds.length || images.some(({ index }, n) => index !== n))
    throw bad(`sent the images ${images.map(({ index }) => index)} of ${seeds.length}`)
  return Promise.all(
    images.map(async ({ b64_json }, n) => {
      const seed = seeds[n] as number
      const { bytes, infotext = '' } = await drawnImage(b64_json, request, bad)
      const said = fieldsOf(infotext)
      requireAsAsked(said, seed, asked, bad)
      const drawnWith = { sampler: sampler.name, scheduler: sampler.schedule ?? null }
      return { bytes, seed, madeWith: { backend: 'sdcpp', version: said('Version') ?? null, ...drawnWith } }
    }),
  )
}

function requireAsAsked(said: Fields, seed: number, { server, request, model, sampler }: SdCppAsked, bad: Bad): void {
  const differs = (key: string, asked: string | undefined) => said(key) !== undefined && said(key) !== asked
  // A field ends at a comma, which a file's name may hold.
  if (said('Model') && differs('Model', model.split(',')[0]))
    throw failure('model_missing', `${server.name} drew with "${said('Model')}" instead of "${model}"`)
  if (differs('Seed', `${seed}`)) throw bad(`drew the seed ${said('Seed')} instead of ${seed}`)
  const method = `${sampler.name} ${sampler.schedule}`
  if (differs('Sampler', method)) throw bad(`sampled with "${said('Sampler')}" instead of "${method}"`)
  if (differs('Steps', `${request.steps}`)) throw bad(`took ${said('Steps')} steps instead of ${request.steps}`)
}
