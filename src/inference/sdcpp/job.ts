import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { linkedSignal, timeLimit, windUp } from '../../abort-signals.js'
import { BackendError } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import type { Waiting } from '../limited.js'
import type { ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'
import { type Asked, imgGenBody } from './request.js'

/** A longer answer about a job has its images in it; all others are a few words. */
const LONGEST_WITHOUT_IMAGES = 16 * 1024
/** So many looks in a row may fail before the job counts as lost. */
const MISSES = 3

interface JobTimes {
  /** How long an answer may take to begin: the server has it in memory. Images in it then take what they take. */
  readonly answerMs: number
  /** Between two looks at it. */
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
export type Job = z.infer<typeof job>

/**
 * Submits a job and waits for its end, whatever that is. The server draws one job at a time and can't be interrupted,
 * so the time in its queue, behind a job that was canceled while it was drawn, counts apart from the drawing.
 * @param waiting told how many jobs come before it; 0 once it is drawn
 * @param drawn told when the server is done; the images may still be on their way
 * @throws BackendError `lost` when the server no longer knows the job; the signal's reason when it aborted
 */
export async function runJob(
  http: ServerHttp,
  asked: Asked,
  times: JobTimes,
  { stop, waiting }: { readonly stop: AbortSignal; readonly waiting: Waiting },
  drawn: () => void,
): Promise<Job> {
  const id = await submit(http, asked, times, stop)
  try {
    const job = await untilEnded(http, { id, asked, times, stop, waiting, drawn })
    drawn()
    return job
  } catch (error) {
    // Whatever it was, nobody waits for the job any more. While it is queued it goes; once drawn, it goes on.
    await http.post(`${pathOf(id)}/cancel`, {}, AbortSignal.timeout(times.cancelGraceMs)).catch(() => undefined)
    throw error
  }
}

const pathOf = (id: string) => `/sdcpp/v1/jobs/${encodeURIComponent(id)}`

/** Returns the job's id. A job whose id is lost can't be canceled, so an abort leaves the answer its grace. */
async function submit(http: ServerHttp, asked: Asked, times: JobTimes, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const grace = windUp(signal, times.cancelGraceMs)
  const limit = timeLimit(grace.signal, times.answerMs)
  try {
    const reply = await http.post('/sdcpp/v1/img_gen', imgGenBody(asked), limit.signal)
    const shape = z.object({ id: z.string().min(1) })
    return jsonReply(http.name, reply, { shape, status: 202, prompts: promptsOf(asked) }).id
  } catch (error) {
    throw limit.isOver() ? failure('lost', `${http.name} did not say whether it took the job`) : error
  } finally {
    limit.clear()
    grace.clear()
  }
}

const promptsOf = ({ request }: Asked) => [request.prompt, request.negativePrompt]

interface Watched {
  readonly id: string
  readonly asked: Asked
  readonly times: JobTimes
  readonly stop: AbortSignal
  readonly waiting: Waiting
  readonly drawn: () => void
}

async function untilEnded(http: ServerHttp, watched: Watched): Promise<Job> {
  const { times, stop, waiting } = watched
  for (let misses = 0; ; ) {
    await delay(times.pollIntervalMs, undefined, { signal: stop }).catch(() => undefined)
    stop.throwIfAborted()
    let seen: Job | undefined
    try {
      seen = await look(http, watched)
      misses = 0
    } catch (error) {
      stop.throwIfAborted()
      if (!isPassing(error)) throw error
      if (++misses === MISSES) throw failure('lost', `${http.name} went away with the job: ${error}`, error)
      continue
    }
    if (!seen) throw failure('lost', `${http.name} does not know the job it took: it was restarted or replaced`)
    if (seen.status === 'queued') waiting(Math.max(1, seen.queue_position ?? 1))
    else if (seen.status === 'generating') waiting(0)
    else return seen
  }
}

/** The job, or undefined where the server does not know it. */
async function look(http: ServerHttp, { id, asked, times, stop, waiting, drawn }: Watched): Promise<Job | undefined> {
  const late = new AbortController()
  const silent = () => failure('lost', `${http.name} did not answer within ${times.answerMs} ms`)
  const timer = setTimeout(() => late.abort(silent()), times.answerMs)
  const { signal, clear } = linkedSignal([stop, late.signal])
  try {
    const reply = await http.get(pathOf(id), signal, (status, length) => {
      if (length !== undefined && length <= LONGEST_WITHOUT_IMAGES) return
      // Megabytes on a slow line: cut off and asked for anew they would never arrive.
      clearTimeout(timer)
      if (status !== 200 || length === undefined) return
      waiting(0)
      drawn()
    })
    if (reply.status === 404 || reply.status === 410) return undefined
    return jsonReply(http.name, reply, { shape: job, prompts: promptsOf(asked) })
  } finally {
    clearTimeout(timer)
    clear()
  }
}

/** Whether the next look may fare better: no answer in time, or none at all. */
const isPassing = (error: unknown) =>
  !(error instanceof BackendError) || error.kind === 'unavailable' || error.kind === 'lost'
