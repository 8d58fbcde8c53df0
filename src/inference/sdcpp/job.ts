import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { timeLimit } from '../../abort-signals.js'
import { BackendError } from '../../generation/backend.js'
import { failure } from '../failure.js'
import { jsonReply } from '../json-reply.js'
import type { ServerHttp } from '../server-http.js'
import { type Asked, imgGenBody } from './request.js'

/** The server answers these calls from memory; one that takes longer is in trouble. */
const CALL_TIMEOUT_MS = 10_000
/** So many looks in a row may fail before the job counts as lost. */
const MISSES = 3

export interface JobTimes {
  /** How long the job may wait in the server's queue, behind jobs that nobody could stop. */
  readonly queueMs: number
  /** How long it may be drawn. */
  readonly drawMs: number
  /** Between two looks at it. */
  readonly pollIntervalMs: number
  /** How long canceling may take. */
  readonly cancelGraceMs: number
}

const job = z.object({
  status: z.enum(['queued', 'generating', 'completed', 'failed', 'cancelled']),
  result: z.object({ images: z.array(z.object({ index: z.int(), b64_json: z.string() })) }).nullish(),
  error: z.object({ message: z.string().nullish() }).nullish(),
})
export type Job = z.infer<typeof job>

/**
 * Submits a job and waits for its end, whatever that is. The server draws one job at a time and can't be interrupted,
 * so the time in its queue, behind a job that was canceled while it was drawn, counts apart from the drawing.
 * @throws BackendError `busy` when its turn did not come, `timeout` when it was not drawn in time, `lost` when the server
 *   no longer knows it; the signal's reason when it aborted
 */
export async function runJob(http: ServerHttp, asked: Asked, times: JobTimes, signal: AbortSignal): Promise<Job> {
  const { queueMs, drawMs, pollIntervalMs, cancelGraceMs } = times
  const id = await submit(http, asked, cancelGraceMs, signal)
  const past = (status: Job['status']) => (stop: AbortSignal) => waitWhile(http, id, { status, pollIntervalMs, stop })
  try {
    const begun = await within(signal, queueMs, past('queued'), () =>
      failure('busy', `${http.name} did not begin the job within ${queueMs} ms`),
    )
    if (begun.status !== 'generating') return begun
    return await within(signal, drawMs, past('generating'), () =>
      failure('timeout', `${http.name} took longer than ${drawMs} ms`),
    )
  } catch (error) {
    // Whatever it was, nobody waits for the job any more. While it is queued it goes; once drawn, it goes on.
    await http.post(`${pathOf(id)}/cancel`, {}, AbortSignal.timeout(cancelGraceMs)).catch(() => undefined)
    throw error
  }
}

const pathOf = (id: string) => `/sdcpp/v1/jobs/${encodeURIComponent(id)}`

/** Returns the job's id. A job whose id is lost can't be canceled, so an abort leaves the answer its grace. */
async function submit(http: ServerHttp, asked: Asked, graceMs: number, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const { prompt, negativePrompt } = asked.request
  const grace = graceAfter(signal, graceMs)
  try {
    const post = (stop: AbortSignal) => http.post('/sdcpp/v1/img_gen', imgGenBody(asked), stop)
    const reply = await within(grace.signal, CALL_TIMEOUT_MS, post, () =>
      failure('lost', `${http.name} did not say whether it took the job`),
    )
    const accepted = { shape: z.object({ id: z.string().min(1) }), status: 202, prompts: [prompt, negativePrompt] }
    return jsonReply(http.name, reply, accepted).id
  } finally {
    grace.clear()
  }
}

/** The job, as soon as it has left the status. */
async function waitWhile(
  http: ServerHttp,
  id: string,
  { status, pollIntervalMs, stop }: { status: Job['status']; pollIntervalMs: number; stop: AbortSignal },
): Promise<Job> {
  for (let misses = 0; ; ) {
    await delay(pollIntervalMs, undefined, { signal: stop }).catch(() => undefined)
    stop.throwIfAborted()
    let seen: Job | undefined
    try {
      seen = await look(http, id, stop)
      misses = 0
    } catch (error) {
      stop.throwIfAborted()
      if (!isPassing(error)) throw error
      if (++misses === MISSES) throw failure('lost', `${http.name} went away with the job: ${error}`, error)
      continue
    }
    if (!seen) throw failure('lost', `${http.name} does not know the job it took: it was restarted or replaced`)
    if (seen.status !== status) return seen
  }
}

/** The job, or undefined where the server does not know it. */
async function look(http: ServerHttp, id: string, stop: AbortSignal): Promise<Job | undefined> {
  const limit = timeLimit(stop, CALL_TIMEOUT_MS)
  try {
    const reply = await http.get(pathOf(id), limit.signal)
    return reply.status === 404 || reply.status === 410 ? undefined : jsonReply(http.name, reply, { shape: job })
  } finally {
    limit.clear()
  }
}

/** Whether the next look may fare better: no answer in time, or none at all. */
const isPassing = (error: unknown) =>
  !(error instanceof BackendError) || error.kind === 'unavailable' || error.kind === 'lost'

/** The work within a time limit of its own. */
async function within<T>(
  signal: AbortSignal,
  ms: number,
  work: (stop: AbortSignal) => Promise<T>,
  late: () => BackendError,
): Promise<T> {
  const limit = timeLimit(signal, ms)
  try {
    return await work(limit.signal)
  } catch (error) {
    throw limit.isOver() ? late() : error
  } finally {
    limit.clear()
  }
}

/** A signal that aborts so long after the other one. */
function graceAfter(signal: AbortSignal, ms: number): { readonly signal: AbortSignal; readonly clear: () => void } {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => controller.abort(signal.reason), ms)
  }
  signal.addEventListener('abort', begin, { once: true })
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', begin)
    },
  }
}
