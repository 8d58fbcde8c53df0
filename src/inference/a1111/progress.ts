import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { timeLimit } from '../../abort-signals.js'
import type { Waiting } from '../limited.js'
import type { ServerHttp } from '../server-http.js'
import { PREVIEW_PATH, PROGRESS_PATH } from './discovery.js'

const POLL_TIMEOUT_MS = 2_000
/** A preview may be a whole megabyte. */
const PREVIEW_EVERY_MS = 1_000

const progressReply = z.object({
  progress: z.number(),
  state: z.object({ interrupted: z.boolean().nullish(), skipped: z.boolean().nullish() }).nullish(),
  current_task: z.string().nullish(),
  current_image: z.string().nullish().catch(null),
})

export interface ProgressReading {
  /** 0 to 1. */
  readonly fraction: number
  /** Someone stopped the job that runs, or that ran last: what it returns is unfinished. */
  readonly interrupted: boolean
  /** What is drawn so far, if it was asked for and the server shows it. */
  readonly preview: Buffer | undefined
}

interface ProgressListener {
  readonly intervalMs: number
  /** Ends the looks. */
  readonly signal: AbortSignal
  readonly waiting: Waiting
  readonly report: (fraction: number) => void
  /** Undefined: no previews are asked for. */
  readonly show: ((preview: Buffer) => void) | undefined
}

/** Progress of the task, or undefined when it can't be had. Never fails. */
export async function readProgress(
  http: ServerHttp,
  taskId: string,
  signal: AbortSignal,
  path = PROGRESS_PATH,
): Promise<ProgressReading | 'of another' | undefined> {
  const limit = timeLimit(signal, POLL_TIMEOUT_MS)
  try {
    const { status, text } = await http.get(path, limit.signal)
    if (status !== 200) return undefined
    const { progress, state, current_task: task, current_image: image } = progressReply.parse(JSON.parse(text))
    if (task && task !== taskId) return 'of another'
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

/** Reports the task's progress until the signal aborts; a failing poll is only a report less. */
export async function watchProgress(
  http: ServerHttp,
  taskId: string,
  { intervalMs, signal, waiting, report, show }: ProgressListener,
): Promise<void> {
  let previewAt = performance.now() + PREVIEW_EVERY_MS
  while (!signal.aborted) {
    await delay(intervalMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const withPreview = show !== undefined && performance.now() >= previewAt
    if (withPreview) previewAt = performance.now() + PREVIEW_EVERY_MS
    const reading = await readProgress(http, taskId, signal, withPreview ? PREVIEW_PATH : PROGRESS_PATH)
    if (!reading || signal.aborted) continue
    waiting(reading === 'of another' ? 1 : 0)
    if (reading === 'of another') continue
    report(reading.fraction)
    if (reading.preview) show?.(reading.preview)
  }
}
