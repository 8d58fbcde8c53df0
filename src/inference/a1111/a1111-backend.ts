import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { z } from 'zod'
import { whenAborted } from '../../abort-signals.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import { type Call, consecutiveRuns, type Limits, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl, type ServerHttp, within } from '../server-http.js'
import { parsedJson, replyFailure } from '../server-reply.js'
import { type A1111Server, discover, PROGRESS_PATH } from './discovery.js'
import { type A1111Asked, readReply, txt2imgBody } from './txt2img.js'

const TIMES = {
  /** Between two polls of the progress. */
  progressIntervalMs: 500,
  /** How long a canceled or timed-out inference may take to stop. */
  cancelGraceMs: 5_000,
}

export type A1111Options = Limits & Partial<typeof TIMES> & { readonly logger?: Pick<Logger, 'info'> | undefined }

/**
 * One server with AUTOMATIC1111's API: A1111, Forge or SD.Next. No other client may use the server: its progress and
 * its interrupt know no jobs, only "the running one".
 */
export function createA1111Backend(url: string, options: A1111Options) {
  const http = createServerHttp(parseServerUrl(url))
  return serverBackend({
    http,
    limits: options,
    remembers: true,
    runsOf: consecutiveRuns,
    async discover(signal, known?: A1111Server) {
      const server = await discover(http, signal)
      if (server.dialect !== known?.dialect)
        options.logger?.info({ backend: http.name, dialect: server.dialect }, 'inference server recognised')
      return server
    },
    offers: ({ models, ambiguous }) => ({ models: [...new Set(models.map(({ filename }) => filename))], ambiguous }),
    modelOf: ({ models }, filename) => models.find((model) => model.filename === filename),
    infer: (asked, call) => infer(http, asked, call, { ...TIMES, ...options }),
  })
}

/**
 * One txt2img call. When `stop` aborts, the server is interrupted before the connection is closed: otherwise it would
 * go on drawing, and the next call would wait.
 * @throws BackendError, or `stop`'s reason
 */
async function infer(http: ServerHttp, asked: A1111Asked, call: Call, times: typeof TIMES) {
  const { attemptId } = asked.request
  const { stop, drawn } = call
  stop.throwIfAborted()
  const hangUp = new AbortController()
  const finished = new AbortController()
  const returned = new AbortController()
  let isDrawn = false
  let lastReading: ReturnType<typeof readProgress> | undefined
  const reply = http.post('/sdapi/v1/txt2img', txt2imgBody(asked), hangUp.signal, (status) => {
    if (status !== 200) return
    // An interrupted job ends like a finished one; only a flag in the progress shows it, until the next job begins.
    lastReading = readProgress(http, attemptId, stop).then((reading) => {
      isDrawn = !stop.aborted
      if (isDrawn) drawn()
      return reading
    })
  })
  const onReturn = () => returned.abort()
  void reply.then(onReturn, onReturn)
  void watchProgress(http, attemptId, call, times.progressIntervalMs, finished.signal)
  try {
    const stopped = whenAborted(stop).then(() => Promise.reject(stop.reason))
    const { status, text } = await Promise.race([reply, stopped])
    finished.abort()
    if (status !== 200) throw refusal(asked, status, text)
    const last = await lastReading
    stop.throwIfAborted()
    if (last?.isOurs && last.interrupted) throw failure('backend_fault', `${http.name} was interrupted by someone else`)
    return await readReply(text, asked)
  } catch (error) {
    finished.abort()
    // Once it is drawn, an interrupt would stop another client's job.
    if (stop.aborted && !isDrawn) await interrupt(http, returned.signal, times.cancelGraceMs)
    throw error
  } finally {
    hangUp.abort()
  }
}

/** The error of another status; it names a sampler that was listed and then refused. */
function refusal({ request, server }: A1111Asked, status: number, text: string) {
  const error = replyFailure(server.name, status, text, request)
  return error.kind === 'unsupported' ? samplerUnavailable(server.name, request.sampler) : error
}

const INTERRUPT_EVERY_MS = 1_000

/** Interrupts until the call returns: the server forgets an interrupt that arrives before the job has begun. */
async function interrupt(http: ServerHttp, returned: AbortSignal, graceMs: number): Promise<void> {
  const over = AbortSignal.timeout(graceMs)
  const end = performance.now() + graceMs
  while (!returned.aborted && !over.aborted) {
    // Waits for the answer even if the call has returned: a late interrupt would stop the next job.
    await http.post('/sdapi/v1/interrupt', {}, over).catch(() => undefined)
    const pauseMs = Math.min(INTERRUPT_EVERY_MS, Math.max(0, end - performance.now()))
    await delay(pauseMs, undefined, { signal: returned }).catch(() => undefined)
  }
}

/** The progress with a preview, if the server is configured to show one. */
const PREVIEW_PATH = '/sdapi/v1/progress?skip_current_image=false'
const POLL_TIMEOUT_MS = 2_000
/** A preview may be a whole megabyte. */
const PREVIEW_EVERY_MS = 1_000

const progressReply = z.object({
  progress: z.number(),
  /** Whether someone stopped the running or last job, whose result is then unfinished. */
  state: z.object({ interrupted: z.boolean().nullish(), skipped: z.boolean().nullish() }).nullish(),
  current_task: z.string().nullish(),
  current_image: z.string().nullish().catch(null),
})

/** The progress of our task, or of another; undefined if it cannot be read. Never fails. */
async function readProgress(http: ServerHttp, taskId: string, signal: AbortSignal, path = PROGRESS_PATH) {
  const reply = await within(signal, POLL_TIMEOUT_MS, (limited) => http.get(path, limited)).catch(() => undefined)
  const said = reply?.status === 200 ? parsedJson(reply.text, progressReply) : undefined
  if (!said) return undefined
  const { progress, state, current_task: task, current_image: image } = said
  return {
    isOurs: !task || task === taskId,
    fraction: Math.min(1, Math.max(0, progress)),
    interrupted: Boolean(state?.interrupted || state?.skipped),
    preview: image ? Buffer.from(image.replace(/^data:[^,]*,/, ''), 'base64') : undefined,
  }
}

/** Reports the task's progress until it is finished; ignores polls that fail. */
async function watchProgress(http: ServerHttp, taskId: string, call: Call, intervalMs: number, finished: AbortSignal) {
  const { waiting, report, onPreview } = call
  let previewAt = performance.now() + PREVIEW_EVERY_MS
  while (!finished.aborted) {
    await delay(intervalMs, undefined, { signal: finished }).catch(() => undefined)
    if (finished.aborted) return
    const withPreview = onPreview !== undefined && performance.now() >= previewAt
    if (withPreview) previewAt = performance.now() + PREVIEW_EVERY_MS
    const reading = await readProgress(http, taskId, finished, withPreview ? PREVIEW_PATH : PROGRESS_PATH)
    if (!reading || finished.aborted) continue
    waiting(reading.isOurs ? 0 : 1)
    if (!reading.isOurs) continue
    report(reading.fraction)
    if (reading.preview) onPreview?.(reading.preview)
  }
}
