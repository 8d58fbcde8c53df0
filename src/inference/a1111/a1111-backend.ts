import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { z } from 'zod'
import { BackendError } from '../../core/generations/run/backend.js'
import { whenAborted, withTimeLimit } from '../../lib/abort-signals.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import { checkpointsOf } from '../checkpoint-options.js'
import { cutOff, drawingCall } from '../drawing-call.js'
import { listedFor } from '../listed-for.js'
import { type Call, consecutiveRuns, type Limits, type NeededModels, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl, type ServerHttp } from '../server-http.js'
import { parsedJson, replyFailure } from '../server-reply.js'
import {
  type A1111Asked,
  type A1111Server,
  bareName,
  modelRefresh,
  PROGRESS_PATH,
  type ServerModel,
} from './discovery.js'
import { settingsOf } from './option-fields.js'
import { lackingOf, listFiles } from './server-files.js'
import { readReply, txt2imgBody } from './txt2img.js'

const TIMES = {
  /** Between two polls of the progress. */
  progressIntervalMs: 500,
  /** How long a canceled or timed-out inference may take to stop. */
  cancelGraceMs: 5_000,
}

export type A1111Options = Limits &
  NeededModels &
  Partial<typeof TIMES> & {
    readonly logger?: Pick<Logger, 'info'> | undefined
    /** The model files that a server should have: one that lacks some is told to look again at its files. */
    readonly wanted?: () => Promise<readonly string[]>
  }

/**
 * One server with AUTOMATIC1111's API: A1111, Forge or SD.Next. No other client may use the server: its progress and
 * its interrupt know no jobs, only "the running one".
 */
export function createA1111Backend(url: string, options: A1111Options) {
  const http = createServerHttp(parseServerUrl(url))
  const abandoned = new Set<string>()
  const { withRefresh, notDuring } = modelRefresh(http, async () => {
    const [wanted = [], definitions = []] = await Promise.all([options.wanted?.(), options.definitions?.()])
    return checkpointsOf(wanted, definitions)
  })
  const filesFor = listedFor((wanted, signal) => listFiles(http, wanted, signal))
  return serverBackend<A1111Server, ServerModel>({
    http,
    limits: options,
    remembers: true,
    runsOf: consecutiveRuns,
    async discover(signal, known, definitions) {
      const server = await withRefresh(signal)
      if (server.dialect !== known?.dialect)
        options.logger?.info({ backend: http.name, dialect: server.dialect }, 'inference server recognised')
      return { ...server, files: await filesFor(definitions, known?.files, signal) }
    },
    lacking: lackingOf,
    offers: ({ models, ambiguous }) => ({ models: [...new Set(models.map(({ filename }) => filename))], ambiguous }),
    modelOf: ({ models }, filename) => models.find((model) => model.filename === filename),
    infer: (asked, call) => notDuring(() => infer(http, asked, call, { ...TIMES, ...options, abandoned })),
  })
}

/** `abandoned`: tasks whose calls were cut off, with which the server may go on, or begin once it is their turn. */
type Watch = Limits & typeof TIMES & { readonly abandoned: Set<string> }

/**
 * One txt2img call. When `stop` aborts, the server is interrupted before the connection is closed: otherwise it would
 * go on drawing, and the next call would wait. So it is when the call is cut off and the server still draws for it.
 * @throws BackendError, or `stop`'s reason
 */
async function infer(http: ServerHttp, asked: A1111Asked, call: Call, watch: Watch) {
  const { attemptId } = asked.request
  const { stop, drawn } = call
  stop.throwIfAborted()
  await prepareSettings(http, asked, stop)
  const hangUp = new AbortController()
  const finished = new AbortController()
  const returned = new AbortController()
  let isDrawn = false
  let lastReading: ReturnType<typeof readProgress> | undefined
  const begunAt = performance.now()
  const body = txt2imgBody(asked)
  const reply = drawingCall(http, watch.timeoutMs, '/sdapi/v1/txt2img', body, hangUp.signal, (status) => {
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
  void watchProgress(http, attemptId, call, watch, finished.signal)
  try {
    const stopped = whenAborted(stop).then(() => Promise.reject(stop.reason))
    const { status, text } = await Promise.race([reply, stopped])
    finished.abort()
    if (status !== 200) throw refusal(asked, status, text)
    const last = await lastReading
    stop.throwIfAborted()
    if (last?.isOurs && last.interrupted) throw failure('backend_fault', `${http.name} was interrupted by someone else`)
    if (asked.server.dialect === 'sdnext' && drewNothing(text)) throw await loadAfterAll(http, asked, stop)
    return await readReply(text, asked)
  } catch (error) {
    finished.abort()
    // Once it is drawn, an interrupt would stop another client's job.
    if (stop.aborted) {
      if (!isDrawn) await interrupt(http, returned.signal, watch.cancelGraceMs)
      throw error
    }
    if (!mayGoOn(error) || !(await interruptAbandoned(http, attemptId, watch)) || error.kind === 'lost') throw error
    // It drew, so it was not away: this answer was a proxy's.
    throw cutOff(error.message, performance.now() - begunAt, watch.timeoutMs)
  } finally {
    hangUp.abort()
  }
}

const OPTIONS_PATH = '/sdapi/v1/options'
const serverOptions = z.object({ sd_model_checkpoint: z.string().nullish(), samples_format: z.string().nullish() })

/**
 * Where a drawing's settings are restored, SD.Next and old versions of A1111 restore the checkpoint, too, which would be
 * loaded twice for each image; and SD.Next the format of images, before it has encoded any. So both are set for good before.
 */
async function prepareSettings(http: ServerHttp, asked: A1111Asked, stop: AbortSignal): Promise<void> {
  if (Object.keys(settingsOf(asked)).length === 0) return
  const { model, request, server } = asked
  const { status, text } = await http.get(OPTIONS_PATH, stop)
  const has = status === 200 ? parsedJson(text, serverOptions) : undefined
  const isLoaded = has?.sd_model_checkpoint && model.reportedAs.includes(bareName(has.sd_model_checkpoint))
  const changes = {
    ...(!isLoaded && { sd_model_checkpoint: model.title }),
    ...(server.dialect === 'sdnext' && has?.samples_format !== 'png' && { samples_format: 'png' }),
  }
  if (Object.keys(changes).length === 0) return
  const reply = await http.post(OPTIONS_PATH, changes, stop)
  if (reply.status !== 200) throw replyFailure(http.name, reply.status, reply.text, request)
}

const NOTHING = z.object({ images: z.tuple([]), info: z.literal('') })
const drewNothing = (text: string): boolean => parsedJson(text, NOTHING) !== undefined

/**
 * SD.Next looks at the checkpoint of a drawing only once it has loaded that of its configuration, which it may not have:
 * a new one names a file that nobody has. So the checkpoint is made the server's own, for the next attempt.
 */
async function loadAfterAll(http: ServerHttp, { model, request }: A1111Asked, stop: AbortSignal) {
  const { status, text } = await http.post(OPTIONS_PATH, { sd_model_checkpoint: model.title }, stop)
  if (status !== 200) return replyFailure(http.name, status, text, request)
  return failure(
    'backend_fault',
    `${http.name} drew nothing, as it had no checkpoint loaded: it now has "${model.title}"`,
  )
}

/** The error of another status; it names a sampler that was listed and then refused. */
function refusal({ request, server }: A1111Asked, status: number, text: string) {
  const error = replyFailure(server.name, status, text, request)
  return error.kind === 'unsupported' ? samplerUnavailable(server.name, request.sampler) : error
}

/** The call was cut off, by a broken connection or by a proxy: the server may still draw for it. */
const mayGoOn = (error: unknown): error is BackendError =>
  error instanceof BackendError && (error.kind === 'lost' || error.kind === 'unavailable')

const LOOK_AGAIN_MS = 100

/** Interrupts a drawing that nobody waits for any more, until the server has stopped it. Whether it drew; never fails. */
async function interruptAbandoned(http: ServerHttp, taskId: string, { abandoned, cancelGraceMs }: Watch) {
  const over = AbortSignal.timeout(cancelGraceMs)
  let drew = false
  while (!over.aborted) {
    const reading = await readProgress(http, taskId, over)
    if (!reading?.isRunning) break
    // Another one is drawn: `watchProgress` interrupts ours when its turn has come.
    if (!drew) abandoned.add(taskId)
    if (!reading.isOurs) break
    drew = true
    await http.post(INTERRUPT_PATH, {}, over).catch(() => undefined)
    await delay(LOOK_AGAIN_MS, undefined, { signal: over }).catch(() => undefined)
  }
  return drew
}

const INTERRUPT_PATH = '/sdapi/v1/interrupt'
const INTERRUPT_EVERY_MS = 1_000

/** Interrupts until the call returns: the server forgets an interrupt that arrives before the job has begun. */
async function interrupt(http: ServerHttp, returned: AbortSignal, graceMs: number): Promise<void> {
  const over = AbortSignal.timeout(graceMs)
  const end = performance.now() + graceMs
  while (!returned.aborted && !over.aborted) {
    // Waits for the answer even if the call has returned: a late interrupt would stop the next job.
    await http.post(INTERRUPT_PATH, {}, over).catch(() => undefined)
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
  state: z
    .object({ interrupted: z.boolean().nullish(), skipped: z.boolean().nullish(), job_count: z.number().nullish() })
    .nullish(),
  /** Of A1111 and Forge. SD.Next and old versions name no task, so there it counts as ours. */
  current_task: z.string().nullish(),
  current_image: z.string().nullish().catch(null),
})

/** The progress of our task, or of another; undefined if it cannot be read. Never fails. */
async function readProgress(http: ServerHttp, taskId: string, signal: AbortSignal, path = PROGRESS_PATH) {
  const reply = await withTimeLimit(signal, POLL_TIMEOUT_MS, (limited) => http.get(path, limited)).catch(
    () => undefined,
  )
  const said = reply?.status === 200 ? parsedJson(reply.text, progressReply) : undefined
  if (!said) return undefined
  const { progress, state, current_task: task, current_image: image } = said
  return {
    task,
    isRunning: (state?.job_count ?? progress) !== 0,
    isOurs: !task || task === taskId,
    fraction: Math.min(1, Math.max(0, progress)),
    interrupted: Boolean(state?.interrupted || state?.skipped),
    preview: image ? Buffer.from(image.replace(/^data:[^,]*,/, ''), 'base64') : undefined,
  }
}

/** Reports the task's progress until it is finished; ignores polls that fail. */
async function watchProgress(http: ServerHttp, taskId: string, call: Call, watch: Watch, finished: AbortSignal) {
  const { waiting, report, onPreview } = call
  const { progressIntervalMs: intervalMs, abandoned } = watch
  let previewAt = performance.now() + PREVIEW_EVERY_MS
  while (!finished.aborted) {
    await delay(intervalMs, undefined, { signal: finished }).catch(() => undefined)
    if (finished.aborted) return
    const withPreview = onPreview !== undefined && performance.now() >= previewAt
    if (withPreview) previewAt = performance.now() + PREVIEW_EVERY_MS
    const reading = await readProgress(http, taskId, finished, withPreview ? PREVIEW_PATH : PROGRESS_PATH)
    if (!reading || finished.aborted) continue
    waiting(reading.isOurs ? 0 : 1)
    if (reading.task && abandoned.has(reading.task))
      await http.post(INTERRUPT_PATH, {}, finished).catch(() => undefined)
    if (!reading.isOurs) continue
    report(reading.fraction)
    if (reading.preview) onPreview?.(reading.preview)
  }
}
