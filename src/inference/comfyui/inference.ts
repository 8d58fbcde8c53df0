import { timeLimit, windUp } from '../../abort-signals.js'
import type { InferredImage } from '../../generation/backend.js'
import { failure } from '../failure.js'
import { probe } from '../probe.js'
import type { ServerAddress, ServerHttp } from '../server-http.js'
import { type Bell, createBell } from './bell.js'
import type { Canceler } from './cancellation.js'
import { openEventStream, type ServerEvent } from './event-stream.js'
import { endFailure, executionFailure } from './execution-failure.js'
import { type HistoryEntry, lookUp } from './history.js'
import { askPatiently, type Patience } from './patience.js'
import { fetchPictures } from './pictures.js'
import { createProgress } from './progress.js'
import { type Asked, type Submitted, submit } from './submission.js'

/** One server, and how to speak to it. */
export interface Link {
  readonly http: ServerHttp
  readonly address: ServerAddress
  readonly canceler: Canceler
}

export interface Watch {
  /** Aborts when the inference is no longer wanted. */
  readonly stop: AbortSignal
  /** Told the fraction done, 0 to 1, as it grows. */
  readonly report: (fraction: number) => void
  /** Shown what is drawn so far, if the server was started with previews. */
  readonly show: (preview: Buffer) => void
  /** Between two looks at whether it has ended. */
  readonly pollIntervalMs: number
  /** How long a canceled prompt may take to stop. */
  readonly cancelGraceMs: number
  readonly patience: Patience
  /** The server is done and may be asked for the next; only the pictures have to be fetched. */
  readonly drawn: () => void
}

const LOOK_TIMEOUT_MS = 10_000
/** A picture takes longer than an answer. */
const DOWNLOAD_MS = 60_000
/** For taking back a prompt whose server has failed. */
const TAKE_BACK_MS = 1_000

/** What the events told about the end, before the history did. */
interface Heard {
  error?: ServerEvent['data']
}

/**
 * One prompt, from the queue to its images. The history is the truth about its end; the events only say when to look.
 * However this fails, the prompt is taken off the server: it goes on otherwise, whether anyone listens or not.
 * @throws BackendError, or `stop`'s reason
 */
export async function infer({ http, address, canceler }: Link, asked: Asked, watch: Watch): Promise<InferredImage[]> {
  const { stop, patience } = watch
  const { attemptId } = asked.request
  stop.throwIfAborted()
  const bell = createBell()
  const heard: Heard = {}
  const events = openEventStream(address, attemptId, listener(asked, watch, bell, heard), watch.show)
  const end = windUp(stop, watch.cancelGraceMs)
  stop.addEventListener('abort', bell.ring, { once: true })
  let promptId = attemptId
  let mayRun = false
  try {
    await canceler.cancelLeftovers(stop)
    await events.tried
    stop.throwIfAborted()
    mayRun = true
    const submitted = await submitOnce(http, asked, { stop, signal: end.signal, answerMs: patience.answerMs })
    promptId = submitted.promptId
    if (submitted.complaint) throw submitted.complaint
    const entry = await untilEnded(http, promptId, asked, { ...watch, bell, heard })
    mayRun = false
    if (!entry.status.succeeded) throw endFailure(http.name, asked.request, entry)
    watch.drawn()
    return await fetchPictures(http, entry, asked, { stop, patience: { ...patience, answerMs: DOWNLOAD_MS } })
  } catch (error) {
    if (mayRun) await takeBack(canceler, promptId, stop, end.signal)
    stop.throwIfAborted()
    throw error
  } finally {
    events.close()
    end.clear()
    stop.removeEventListener('abort', bell.ring)
  }
}

function listener({ graph }: Asked, { report }: Watch, bell: Bell, heard: Heard): (event: ServerEvent) => void {
  const progress = createProgress(graph.images, report)
  return (event) => {
    progress(event)
    if (event.type === 'execution_error') heard.error = event.data
    // The one event that comes after the history has the end.
    else if (event.type === 'executing' && event.data.node === null) bell.ring()
  }
}

const knows = async (http: ServerHttp, promptId: string, stop: AbortSignal): Promise<boolean> =>
  (await probe({ name: http.name, signal: stop, timeoutMs: LOOK_TIMEOUT_MS }, (signal) =>
    lookUp(http, promptId, signal),
  )) !== 'unknown'

/** `signal` outlives `stop`: a call that is cut off may queue the prompt after the cancel has looked for it. */
async function submitOnce(
  http: ServerHttp,
  asked: Asked,
  { stop, signal, answerMs }: { readonly stop: AbortSignal; readonly signal: AbortSignal; readonly answerMs: number },
): Promise<Submitted> {
  const limit = timeLimit(signal, answerMs)
  try {
    return await submit(http, asked, limit.signal)
  } catch (error) {
    stop.throwIfAborted()
    // What is lost may be the answer alone; the same id sent again would run twice.
    const { attemptId } = asked.request
    if (await knows(http, attemptId, stop).catch(() => false)) return { promptId: attemptId, complaint: undefined }
    throw limit.isOver() ? failure('lost', `${http.name} did not say whether it took the prompt`) : error
  } finally {
    limit.clear()
  }
}

async function untilEnded(
  http: ServerHttp,
  promptId: string,
  { request }: Asked,
  { stop, patience, pollIntervalMs, bell, heard }: Watch & { readonly bell: Bell; readonly heard: Heard },
): Promise<HistoryEntry> {
  for (;;) {
    const found = await askPatiently(http.name, patience, stop, (signal) => lookUp(http, promptId, signal))
    if (found === 'unknown') {
      if (heard.error) throw executionFailure(http.name, request, heard.error)
      throw failure('lost', `${http.name} does not know the prompt any more; it was restarted or replaced`)
    }
    if (found !== 'queued') return found
    await bell.wait(pollIntervalMs)
    stop.throwIfAborted()
  }
}

async function takeBack(canceler: Canceler, promptId: string, stop: AbortSignal, end: AbortSignal): Promise<void> {
  if (stop.aborted) return canceler.cancel(promptId, end)
  const limit = timeLimit(stop, TAKE_BACK_MS)
  await canceler.cancel(promptId, limit.signal)
  limit.clear()
}
