import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { withTimeLimit } from '../../lib/abort-signals.js'
import type { Call } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'
import { readQueue } from './prompt-history.js'

const QUEUE_POLL_MS = 50
/** An interrupt that arrives while a prompt is about to begin is forgotten. */
const RETRY_MS = 400
const CANCEL_ENDED_MS = 2_000

/** Cancels a prompt. Returns when it is off the server's queue, or the signal aborts. Never fails. */
export const cancelPrompt = (http: ServerHttp, promptId: string, signal: AbortSignal): Promise<void> =>
  // Where the server is down or too slow, the next attempt of ours that waits behind the prompt cancels it.
  cancelUntilGone(http, promptId, signal).catch(() => undefined)

/**
 * Cancels the prompts of attempts that have ended: their worker died, or could not reach the server then. The prompts
 * of people, of other services and of running attempts stay. Never fails: the next poll retries.
 * @param ownId the prompt that waits behind them
 */
export const cancelEnded = (http: ServerHttp, ownId: string, hasEnded: Call['hasEnded'], signal: AbortSignal) =>
  withTimeLimit(signal, CANCEL_ENDED_MS, async (limited) => {
    const { running, pending } = await readQueue(http, limited)
    for (const { id, attempt } of [...running, ...pending])
      if (id !== ownId && attempt !== undefined && (await hasEnded(attempt))) await cancelUntilGone(http, id, limited)
  }).catch(() => undefined)

/** @throws BackendError, or the signal's reason */
async function cancelUntilGone(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<void> {
  let triedAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const { running, pending } = await readQueue(http, signal)
    const waits = pending.some(({ id }) => id === promptId)
    if (!waits && !running.some(({ id }) => id === promptId)) return
    if (performance.now() - triedAt >= RETRY_MS) {
      triedAt = performance.now()
      if (!(await cancelJob(http, promptId, signal))) {
        if (waits) await http.post('/queue', { delete: [promptId] }, signal)
        // Old versions ignore the id and interrupt whatever runs.
        else if (running.every(({ id }) => id === promptId))
          await http.post('/interrupt', { prompt_id: promptId }, signal)
      }
    }
    await delay(QUEUE_POLL_MS, undefined, { signal })
  }
}

/** Older versions interrupt whatever runs. A version that the server does not tell is older. */
export function interruptsById(version: string | null): boolean {
  const [major = 0, minor = 0, patch = 0] = (version ?? '').split('.').map(Number)
  return major > 0 || minor > 3 || (minor === 3 && patch >= 64)
}

const jobReply = z.object({ cancelled: z.boolean() })

/** Cancels in one step, queued or running; false if the server is too old for that. */
async function cancelJob(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<boolean> {
  const { status, text } = await http.post(`/api/jobs/${encodeURIComponent(promptId)}/cancel`, {}, signal)
  return status === 200 && parsedJson(text, jobReply)?.cancelled === true
}
