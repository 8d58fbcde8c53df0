import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { timeLimit, whenAborted } from '../../abort-signals.js'
import type { InferredImage } from '../../generation/run/backend.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import type { Call } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import { replyFailure } from '../server-reply.js'
import { PROGRESS_PATH } from './discovery.js'
import { type A1111Asked, readReply, txt2imgBody } from './txt2img.js'

const INTERRUPT_AGAIN_MS = 1_000

interface Times {
  /** Between two looks at the progress. */
  readonly progressIntervalMs: number
  /** How long the server may take to stop. */
  readonly cancelGraceMs: number
}

/**
 * One txt2img call. When `stop` aborts, the server is interrupted before the call is given up: it goes on otherwise,
 * whether anyone listens or not, and the next call would wait behind it.
 * @throws BackendError, or `stop`'s reason
 */
export async function infer(http: ServerHttp, asked: A1111Asked, call: Call, times: Times): Promise<InferredImage[]> {
  const { attemptId } = asked.request
  const { stop, drawn } = call
  stop.throwIfAborted()
  const givenUp = new AbortController()
  const finished = new AbortController()
  const back = new AbortController()
  let isDrawn = false
  let lastReading: ReturnType<typeof readProgress> | undefined
  const reply = http.post('/sdapi/v1/txt2img', txt2imgBody(asked), givenUp.signal, (status) => {
    if (status !== 200) return
    // An interrupted job looks like a finished one; only the flag that stays behind tells, until the next job begins.
    lastReading = readProgress(http, attemptId, stop).then((reading) => {
      isDrawn = !stop.aborted
      if (isDrawn) drawn()
      return reading
    })
  })
  const isBack = () => back.abort()
  void reply.then(isBack, isBack)
  void watchProgress(http, attemptId, call, times.progressIntervalMs, finished.signal)
  try {
    const stopped = whenAborted(stop).then((): never => {
      throw stop.reason
    })
    const { status, text } = await Promise.race([reply, stopped])
    finished.abort()
    if (status !== 200) throw refusal(asked, status, text)
    const last = await lastReading
    stop.throwIfAborted()
    if (last !== 'of another' && last?.interrupted)
      throw failure('backend_fault', `${http.name} was interrupted by someone else`)
    return await readReply(text, asked)
  } catch (error) {
    finished.abort()
    // Once it is drawn an interrupt would stop somebody else's.
    if (stop.aborted && !isDrawn) await interrupt(http, back.signal, times.cancelGraceMs)
    throw error
  } finally {
    givenUp.abort()
  }
}

/** A sampler that was listed and then refused is named to the user all the same. */
function refusal({ request, server }: A1111Asked, status: number, text: string) {
  const error = replyFailure(server.name, status, text, [request.prompt, request.negativePrompt])
  return error.kind === 'unsupported' ? samplerUnavailable(server.name, request.sampler) : error
}

/** Interrupts until the call is back: the server forgets an interrupt that arrives before the job has begun. */
async function interrupt(http: ServerHttp, back: AbortSignal, graceMs: number): Promise<void> {
  const over = AbortSignal.timeout(graceMs)
  const end = performance.now() + graceMs
  while (!back.aborted && !over.aborted) {
    // Its answer is waited for even when the call is back meanwhile: a late interrupt would stop the next job.
    await http.post('/sdapi/v1/interrupt', {}, over).catch(() => undefined)
    const pauseMs = Math.min(INTERRUPT_AGAIN_MS, Math.max(0, end - performance.now()))
    await delay(pauseMs, undefined, { signal: back }).catch(() => undefined)
  }
}

/** Beside the progress what is drawn so far, where the server is set to show it. */
const PREVIEW_PATH = '/sdapi/v1/progress?skip_current_image=false'
const POLL_TIMEOUT_MS = 2_000
/** A preview may be a whole megabyte. */
const PREVIEW_EVERY_MS = 1_000

const progressReply = z.object({
  progress: z.number(),
  /** Whether someone stopped the job that runs, or that ran last: what it returns is unfinished. */
  state: z.object({ interrupted: z.boolean().nullish(), skipped: z.boolean().nullish() }).nullish(),
  current_task: z.string().nullish(),
  current_image: z.string().nullish().catch(null),
})

/** Progress of the task, or undefined when it can't be had. Never fails. */
async function readProgress(http: ServerHttp, taskId: string, signal: AbortSignal, path = PROGRESS_PATH) {
  const limit = timeLimit(signal, POLL_TIMEOUT_MS)
  try {
    const { status, text } = await http.get(path, limit.signal)
    if (status !== 200) return undefined
    const { progress, state, current_task: task, current_image: image } = progressReply.parse(JSON.parse(text))
    if (task && task !== taskId) return 'of another' as const
    return {
      fraction: Math.min(1, Math.max(0, progress)),
      interrupted: Boolean(state?.interrupted || state?.skipped),
      preview: image ? Buffer.from(image.replace(/^data:[^,]*,/, ''), 'base64') : undefined,
    }
  } catch {
    return undefined
  } finally {
    limit.clear()
  }
}

/** Reports the task's progress until it is finished; a poll that fails is only a report less. */
async function watchProgress(
  http: ServerHttp,
  taskId: string,
  { waiting, report, onPreview }: Call,
  intervalMs: number,
  finished: AbortSignal,
): Promise<void> {
  let previewAt = performance.now() + PREVIEW_EVERY_MS
  while (!finished.aborted) {
    await delay(intervalMs, undefined, { signal: finished }).catch(() => undefined)
    if (finished.aborted) return
    const withPreview = onPreview !== undefined && performance.now() >= previewAt
    if (withPreview) previewAt = performance.now() + PREVIEW_EVERY_MS
    const reading = await readProgress(http, taskId, finished, withPreview ? PREVIEW_PATH : PROGRESS_PATH)
    if (!reading || finished.aborted) continue
    waiting(reading === 'of another' ? 1 : 0)
    if (reading === 'of another') continue
    report(reading.fraction)
    if (reading.preview) onPreview?.(reading.preview)
  }
}
