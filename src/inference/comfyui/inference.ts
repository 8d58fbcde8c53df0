import { setTimeout as delay } from 'node:timers/promises'
import { windUp } from '../../abort-signals.js'
import type { InferredImage } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import type { Call } from '../server-backend.js'
import { type ServerHttp, within } from '../server-http.js'
import { cancelEnded, cancelPrompt } from './cancellation.js'
import type { ComfyuiAsked } from './graph.js'
import { askPatiently, clientOf, eraseTraces, lookUp, type Patience } from './prompt-history.js'
import { endFailure, executionFailure, fetchImages } from './prompt-result.js'
import { submitOnce } from './prompt-submission.js'
import { createProgress, openServerEvents, type ServerEvent } from './server-events.js'

export interface Times {
  /** Between two polls of whether a prompt has ended. */
  readonly pollIntervalMs: number
  /** How long a canceled or timed-out inference may take to stop. */
  readonly cancelGraceMs: number
  readonly patience: Patience
}

type Watch = Call & Times

/** For canceling a prompt after a failure. */
const CANCEL_AFTER_FAILURE_MS = 1_000

interface Prompt {
  /** The attempt's id, until an old server replaces it with its own. */
  id: string
  /** Failures from events, which come before the history's; by prompt, because they may also come before the id. */
  readonly errors: Map<unknown, ServerEvent['data']>
}

/**
 * One prompt, from the queue to its images. The history is the truth about its end; the events only say when to poll
 * it. Every failure cancels the prompt on the server, which otherwise goes on with it.
 * @throws BackendError, or `stop`'s reason
 */
export async function infer(http: ServerHttp, asked: ComfyuiAsked, watch: Watch): Promise<InferredImage[]> {
  const { stop, patience } = watch
  stop.throwIfAborted()
  const wakeUp = createWakeUp()
  const prompt: Prompt = { id: asked.request.attemptId, errors: new Map() }
  const { onEvent, showPreview } = createListener(asked, watch, wakeUp, prompt)
  const events = openServerEvents(http.address, clientOf(asked.request), onEvent, showPreview)
  const end = windUp(stop, watch.cancelGraceMs)
  stop.addEventListener('abort', wakeUp.wake, { once: true })
  let sent = false
  let mayRun = false
  try {
    await events.tried
    stop.throwIfAborted()
    sent = mayRun = true
    const { promptId, complaint } = await submitOnce(http, asked, stop, end.signal, patience.answerMs)
    prompt.id = promptId
    if (complaint) throw complaint
    const entry = await untilEnded(http, prompt, asked, watch, wakeUp)
    mayRun = false
    if (!entry.status.succeeded) throw endFailure(http.name, asked.request, entry)
    watch.drawn()
    return await fetchImages(http, entry, asked, stop, patience)
  } catch (error) {
    if (mayRun && stop.aborted) await cancelPrompt(http, prompt.id, end.signal)
    else if (mayRun) await within(stop, CANCEL_AFTER_FAILURE_MS, (limited) => cancelPrompt(http, prompt.id, limited))
    stop.throwIfAborted()
    throw error
  } finally {
    events.close()
    if (sent) await eraseTraces(http, prompt.id, end.signal)
    end.clear()
    stop.removeEventListener('abort', wakeUp.wake)
  }
}

function createListener({ graph }: ComfyuiAsked, { report, onPreview }: Watch, wakeUp: WakeUp, prompt: Prompt) {
  const progress = createProgress(graph.images, report)
  /**
   * The prompt of the latest event. All clients get the events of a prompt that has no client, and neither previews nor
   * an old server's progress name their prompt.
   */
  let current: unknown
  return {
    onEvent(event: ServerEvent): void {
      const { type, data } = event
      if (data.prompt_id !== undefined) current = data.prompt_id
      if (type === 'execution_error') prompt.errors.set(data.prompt_id, data)
      if (current !== prompt.id) return
      progress(event)
      // The only event that comes after the end is in the history.
      if (type === 'executing' && data.node === null) {
        current = undefined
        wakeUp.wake()
      }
    },
    showPreview(preview: Buffer): void {
      if (current === prompt.id) onPreview?.(preview)
    },
  }
}

/** The prompt's entry in the history. */
async function untilEnded(http: ServerHttp, prompt: Prompt, asked: ComfyuiAsked, watch: Watch, wakeUp: WakeUp) {
  const { id, errors } = prompt
  const { stop, waiting } = watch
  for (;;) {
    const found = await askPatiently(http.name, watch.patience, stop, (limited) => lookUp(http, id, limited))
    if (found === 'unknown') {
      const error = errors.get(id)
      if (error) throw executionFailure(http.name, asked.request, error)
      throw failure('lost', `${http.name} does not know the prompt any more; it was restarted or replaced`)
    }
    if (!('before' in found)) return found
    waiting(found.before)
    if (found.before > 0) await cancelEnded(http, id, watch.hasEnded, stop)
    await wakeUp.wait(watch.pollIntervalMs)
    stop.throwIfAborted()
  }
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
