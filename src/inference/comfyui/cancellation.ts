import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { timeLimit } from '../../abort-signals.js'
import type { ServerHttp } from '../server-http.js'
import { readQueue } from './history.js'

const LOOK_AGAIN_MS = 50
/** An interrupt that arrives while a prompt is about to begin is forgotten. */
const ASK_AGAIN_MS = 400
const LEFTOVERS_TIMEOUT_MS = 2_000

/** Takes prompts off the server, and keeps in mind those that it could not. */
export interface Canceler {
  /** Returns when the prompt is off the queue, or the signal aborts. Never fails. */
  cancel(promptId: string, signal: AbortSignal): Promise<void>
  /** Tries once more what was left running; a server should do nobody's work. */
  cancelLeftovers(signal: AbortSignal): Promise<void>
}

export function createCanceler(http: ServerHttp): Canceler {
  const leftovers = new Set<string>()

  async function cancel(promptId: string, signal: AbortSignal): Promise<void> {
    leftovers.add(promptId)
    try {
      await takeOff(http, promptId, signal)
      leftovers.delete(promptId)
    } catch {
      // The server is away, or takes too long: left for the next time.
    }
  }

  return {
    cancel,
    async cancelLeftovers(signal) {
      const limit = timeLimit(signal, LEFTOVERS_TIMEOUT_MS)
      for (const promptId of leftovers) await cancel(promptId, limit.signal)
      limit.clear()
    },
  }
}

/** @throws BackendError, or the signal's reason */
async function takeOff(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<void> {
  let askedAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const { running, pending } = await readQueue(http, signal)
    if (!running.includes(promptId) && !pending.includes(promptId)) return
    if (performance.now() - askedAt >= ASK_AGAIN_MS) {
      askedAt = performance.now()
      if (!(await cancelJob(http, promptId, signal))) {
        if (pending.includes(promptId)) await http.post('/queue', { delete: [promptId] }, signal)
        // Old versions do not heed the id and interrupt whatever runs.
        else if (running.every((id) => id === promptId)) await http.post('/interrupt', { prompt_id: promptId }, signal)
      }
    }
    await delay(LOOK_AGAIN_MS, undefined, { signal })
  }
}

const jobReply = z.object({ cancelled: z.boolean() })

/** Whether the server is new enough to have canceled it in one step, wherever it was. */
async function cancelJob(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<boolean> {
  const { status, text } = await http.post(`/api/jobs/${encodeURIComponent(promptId)}/cancel`, {}, signal)
  try {
    return status === 200 && jobReply.parse(JSON.parse(text)).cancelled
  } catch {
    return false
  }
}
