import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { ServerHttp } from '../server-http.js'
import { timeLimit } from '../time-limit.js'
import { PROGRESS_PATH } from './discovery.js'

const POLL_TIMEOUT_MS = 2_000

const progressReply = z.object({
  progress: z.number(),
  state: z.object({ interrupted: z.boolean().nullish(), skipped: z.boolean().nullish() }).nullish(),
  current_task: z.string().nullish(),
})

export interface ProgressReading {
  /** 0 to 1. */
  readonly fraction: number
  /** Someone stopped the job that runs, or that ran last: what it returns is unfinished. */
  readonly interrupted: boolean
}

/** Progress of the task, or undefined when it can't be had or is another task's. Never fails. */
export async function readProgress(
  http: ServerHttp,
  taskId: string,
  signal: AbortSignal,
): Promise<ProgressReading | undefined> {
  const limit = timeLimit(signal, POLL_TIMEOUT_MS)
  try {
    const { status, text } = await http.get(PROGRESS_PATH, limit.signal)
    if (status !== 200) return undefined
    const { progress, state, current_task: task } = progressReply.parse(JSON.parse(text))
    if (task && task !== taskId) return undefined
    return { fraction: Math.min(1, Math.max(0, progress)), interrupted: Boolean(state?.interrupted || state?.skipped) }
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
  { intervalMs, signal, report }: { intervalMs: number; signal: AbortSignal; report: (fraction: number) => void },
): Promise<void> {
  while (!signal.aborted) {
    await delay(intervalMs, undefined, { signal }).catch(() => undefined)
    const reading = signal.aborted ? undefined : await readProgress(http, taskId, signal)
    if (reading && !signal.aborted) report(reading.fraction)
  }
}
