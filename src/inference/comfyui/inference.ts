import { setTimeout as delay } from 'node:timers/promises'
import { timeLimit, windUp } from '../../abort-signals.js'
import type { InferredImage } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import type { Call } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import { cancelEnded, cancelPrompt } from './cancellation.js'
import { endFailure, executionFailure } from './comfyui-failure.js'
import { fetchImages } from './output-images.js'
import { askPatiently, type Patience } from './patience.js'
import { eraseTraces, type HistoryEntry, lookUp } from './prompt-history.js'
import { type Asked, clientOf, submitOnce } from './prompt-submission.js'
import { createProgress, openServerEvents, type ServerEvent } from './server-events.js'

interface Watch extends Call {
  /** Between two looks at whether it has ended. */
  readonly pollIntervalMs: number
  /** How long a canceled prompt may take to stop. */
  readonly cancelGraceMs: number
  readonly patience: Patience
}

/** An image takes longer than an answer. */
const DOWNLOAD_MS = 60_000
/** For taking back a prompt whose server has failed. */
const TAKE_BACK_MS = 1_000

interface Prompt {
  /** The attempt's, until an old server gives it one of its own. */
  id: string
  /** What the events told of failures, before the history did; by prompt, since they may be faster than the id. */
  readonly errors: Map<unknown, ServerEvent['data']>
}

/**
 * One prompt, from the queue to its images. The history is the truth about its end; the events only say when to look.
 * However this fails, the prompt is taken off the server: it goes on otherwise, whether anyone listens or not.
 * @throws BackendError, or `stop`'s reason
 */
export async function infer(http: ServerHttp, asked: Asked, watch: Watch): Promise<InferredImage[]> {
  const { stop, patience } = watch
  stop.throwIfAborted()
  const wakeUp = createWakeUp()
  const prompt: Prompt = { id: asked.request.attemptId, errors: new Map() }
  const { hear, show } = listener(asked, watch, wakeUp, prompt)
  const events = openServerEvents(http.address, clientOf(asked.request), hear, show)
  const end = windUp(stop, watch.cancelGraceMs)
  stop.addEventListener('abort', wakeUp.wake, { once: true })
  let sent = false
  let mayRun = false
  try {
    await events.tried
    stop.throwIfAborted()
    sent = mayRun = true
    const submitted = await submitOnce(http, asked, { stop, signal: end.signal, answerMs: patience.answerMs })
    prompt.id = submitted.promptId
    if (submitted.complaint) throw submitted.complaint
    const entry = await untilEnded(http, prompt, asked, watch, wakeUp)
    mayRun = false
    if (!entry.status.succeeded) throw endFailure(http.name, asked.request, entry)
    watch.drawn()
    return await fetchImages(http, entry, asked, { stop, patience: { ...patience, answerMs: DOWNLOAD_MS } })
  } catch (error) {
    if (mayRun) await takeBack(http, prompt.id, stop, end.signal)
    stop.throwIfAborted()
    throw error
  } finally {
    events.close()
    if (sent) await eraseTraces(http, prompt.id, end.signal)
    end.clear()
    stop.removeEventListener('abort', wakeUp.wake)
  }
}

function listener({ graph }: Asked, { report, onPreview }: Watch, wakeUp: WakeUp, prompt: Prompt) {
  const progress = createProgress(graph.images, report)
  /**
   * What the events last spoke of. Everybody is told of a prompt that came without a client, and neither a preview nor
   * an old server's progress says whose it is.
   */
  let current: unknown
  return {
    hear(event: ServerEvent): void {
      const { type, data } = event
      if (data.prompt_id !== undefined) current = data.prompt_id
      if (type === 'execution_error') prompt.errors.set(data.prompt_id, data)
      if (current !== prompt.id) return
      progress(event)
      // The one event that comes after the history has the end.
      if (type === 'executing' && data.node === null) {
        current = undefined
        wakeUp.wake()
      }
    },
    show(preview: Buffer): void {
      if (current === prompt.id) onPreview?.(preview)
    },
  }
}

async function untilEnded(
  http: ServerHttp,
  { id, errors }: Prompt,
  { request }: Asked,
  { stop, waiting, patience, pollIntervalMs, hasEnded }: Watch,
  wakeUp: WakeUp,
): Promise<HistoryEntry> {
  for (;;) {
    const found = await askPatiently(http.name, patience, stop, (signal) => lookUp(http, id, signal))
    if (found === 'unknown') {
      const error = errors.get(id)
      if (error) throw executionFailure(http.name, request, error)
      throw failure('lost', `${http.name} does not know the prompt any more; it was restarted or replaced`)
    }
    if (!('before' in found)) return found
    waiting(found.before)
    if (found.before > 0) await cancelEnded(http, id, hasEnded, stop)
    await wakeUp.wait(pollIntervalMs)
    stop.throwIfAborted()
  }
}

async function takeBack(http: ServerHttp, promptId: string, stop: AbortSignal, end: AbortSignal): Promise<void> {
  if (stop.aborted) return cancelPrompt(http, promptId, end)
  const limit = timeLimit(stop, TAKE_BACK_MS)
  await cancelPrompt(http, promptId, limit.signal)
  limit.clear()
}

type WakeUp = ReturnType<typeof createWakeUp>

/** `wake` ends the present wait, or the next one. */
function createWakeUp() {
  let woken = new AbortController()
  return {
    wake: () => woken.abort(),
    async wait(ms: number): Promise<void> {
      await delay(ms, undefined, { signal: woken.signal }).catch(() => undefined)
      woken = new AbortController()
    },
  }
}
