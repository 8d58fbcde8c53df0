import { setTimeout as delay } from 'node:timers/promises'
import type { InferredImage } from '../../generation/run/backend.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import type { Waiting } from '../limited.js'
import type { ServerHttp } from '../server-http.js'
import { replyFailure } from '../server-reply.js'
import { type ProgressReading, readProgress, watchProgress } from './progress.js'
import { readReply } from './reply.js'
import { type Asked, txt2imgBody } from './request.js'

const INTERRUPT_AGAIN_MS = 1_000

interface Watch {
  /** Aborts when the inference is no longer wanted. */
  readonly stop: AbortSignal
  /** Told whether the server is at work on this call or, as far as it tells, on another one. */
  readonly waiting: Waiting
  /** Told the fraction done, 0 to 1, every so often. */
  readonly report: (fraction: number) => void
  /** Shown what is drawn so far, where the server has it. */
  readonly show: ((preview: Buffer) => void) | undefined
  readonly progressIntervalMs: number
  /** How long the server may take to stop. */
  readonly cancelGraceMs: number
  /** The server is done and may be asked for the next; only the answer is on its way. */
  readonly drawn: () => void
}

/**
 * One txt2img call. When `stop` aborts, the server is interrupted before the call is given up: it goes on otherwise,
 * whether anyone listens or not, and the next call would wait behind it.
 * @throws BackendError, or `stop`'s reason
 */
export async function infer(http: ServerHttp, asked: Asked, watch: Watch): Promise<InferredImage[]> {
  const { request } = asked
  const { stop, waiting, report, show, progressIntervalMs: intervalMs, cancelGraceMs, drawn } = watch
  stop.throwIfAborted()
  const givenUp = new AbortController()
  const finished = new AbortController()
  const back = new AbortController()
  let isDrawn = false
  let lastReading: Promise<ProgressReading | 'of another' | undefined> | undefined
  const reply = http.post('/sdapi/v1/txt2img', txt2imgBody(asked), givenUp.signal, (status) => {
    if (status !== 200) return
    // An interrupted job looks like a finished one; only the flag that stays behind tells, until the next job begins.
    lastReading = readProgress(http, request.attemptId, stop).then((reading) => {
      isDrawn = !stop.aborted
      if (isDrawn) drawn()
      return reading
    })
  })
  const isBack = () => back.abort()
  void reply.then(isBack, isBack)
  void watchProgress(http, request.attemptId, { intervalMs, signal: finished.signal, waiting, report, show })
  try {
    const { status, text } = await orStopped(reply, stop)
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
    if (stop.aborted && !isDrawn) await interrupt(http, back.signal, cancelGraceMs)
    throw error
  } finally {
    givenUp.abort()
  }
}

/** A sampler that was listed and then refused is named to the user all the same. */
function refusal({ request, server }: Asked, status: number, text: string) {
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

/** The work's outcome, or the stop signal's reason if that comes first. */
async function orStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  let onStop: () => void = () => undefined
  const stopped = new Promise<never>((_resolve, reject) => {
    onStop = () => reject(stop.reason)
    stop.addEventListener('abort', onStop, { once: true })
    if (stop.aborted) onStop()
  })
  try {
    return await Promise.race([work, stopped])
  } finally {
    stop.removeEventListener('abort', onStop)
  }
}
