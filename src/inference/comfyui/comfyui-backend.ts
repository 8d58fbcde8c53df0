import { setTimeout as delay } from 'node:timers/promises'
import { BackendError } from '../../core/generations/run/backend.js'
import { whenAborted, windUp, withTimeLimit } from '../../lib/abort-signals.js'
import { failure } from '../backend-failure.js'
import { type Call, type Limits, type NeededModels, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl } from '../server-http.js'
import { cancelEnded, cancelPrompt, interruptsById } from './cancellation.js'
import { type ComfyuiServer, discover } from './discovery.js'
import { type ComfyuiAsked, graphOf } from './graph.js'
import { nodeClasses } from './node-classes.js'
import { askPatiently, eraseTraces, type HistoryEntry, lookUp, PATIENCE } from './prompt-history.js'
import { createDownloads, endFailure, executionFailure, fetchImages } from './prompt-result.js'
import { submitOnce } from './prompt-submission.js'
import { createProgress, createServerEvents, opensEvents, type ServerEvent } from './server-events.js'
import { adviceOnFiles } from './temporary-files.js'
import { requireTaken } from './workflow/number-limits.js'

const TIMES = {
  /** Between two polls of whether a prompt has ended. */
  pollIntervalMs: 1_000,
  /** How long a canceled or timed-out inference may take to stop. */
  cancelGraceMs: 5_000,
  patience: PATIENCE,
}

export type ComfyuiOptions = Limits & NeededModels & Partial<typeof TIMES>
/** `finishLater`: of work that the images need not wait for; `close` does. */
type Watch = Call &
  typeof TIMES & {
    readonly events: ReturnType<typeof createServerEvents>
    finishLater(work: Promise<void>): void
    /** Sends a prompt once those before it are sent. */
    inOrder<T>(send: () => Promise<T>): Promise<T>
  }

/** Other clients may use the server, no other worker. */
export function createComfyuiBackend(url: string, options: ComfyuiOptions) {
  const http = createServerHttp(parseServerUrl(url), { keepAlive: true })
  const events = createServerEvents(http.address)
  const unfinished = new Set<Promise<void>>()
  const finishLater = (work: Promise<void>) => {
    unfinished.add(work)
    void work.finally(() => unfinished.delete(work))
  }
  let sent: Promise<unknown> = Promise.resolve()
  const inOrder = <T>(send: () => Promise<T>) => {
    const sending = sent.then(send)
    sent = sending.catch(() => undefined)
    return sending
  }
  const classes = nodeClasses(http)
  const backend = serverBackend({
    http,
    limits: options,
    remembers: true,
    drawsWorkflows: true,
    discover(signal, known: ComfyuiServer | undefined, definitions) {
      if (!known) classes.forget()
      return discover(http, classes, definitions, signal)
    },
    offers: ({ models, lacks }) => ({ models: [...models.keys()], lacks }),
    modelOf: ({ models }, filename) => models.get(filename),
    queues: ({ version }) => interruptsById(version),
    lacking: () => ['ComfyUI draws checkpoints without options: import a workflow that has them.'],
    runsOf: (seeds) => [seeds],
    infer: async (asked, call) => {
      if ('workflow' in asked.model) requireTaken(http.name, asked.model.workflow, asked.request)
      const graph = graphOf(asked.request, asked.model, asked.sampler)
      return infer({ ...asked, http, graph }, { ...call, ...TIMES, ...options, events, finishLater, inOrder })
    },
  })
  return {
    ...backend,
    advice: async (signal: AbortSignal) => [
      ...(await adviceOnFiles(http, signal)),
      ...((await opensEvents(http.address)) ? [] : [NO_EVENTS]),
    ],
    async close() {
      await Promise.all(unfinished)
      events.close()
      await backend.close()
    },
  }
}

const NO_EVENTS =
  'its events do not come through, so that there is no progress and no preview: let the proxy before it pass WebSockets on (nginx: proxy_http_version 1.1, and the headers Upgrade and Connection)'

/**
 * How long to wait for the event of a prompt's begin before looking it up. One that has begun is looked up at its end, or
 * when its events stop.
 */
const FIRST_LOOK_MS = 100
/** For canceling a prompt after a failure. */
const CANCEL_AFTER_FAILURE_MS = 1_000
/** Lets the images be stored first: somebody waits for them, and for the erasing nobody does. */
const ERASE_AFTER_MS = 50

/**
 * One prompt, from the queue to its images. The history is the truth about its end; the events only say when to poll
 * it. Every failure cancels the prompt on the server, which otherwise goes on with it.
 * @throws BackendError, or `stop`'s reason
 */
async function infer(asked: ComfyuiAsked, watch: Watch) {
  const { http } = asked
  const { stop, patience } = watch
  stop.throwIfAborted()
  const prompt = followPrompt(asked, watch)
  const end = windUp(stop, watch.cancelGraceMs)
  let sent = false
  let mayRun = false
  const erase = (entry?: HistoryEntry) => eraseTraces(http, prompt.id, end.signal, entry)
  try {
    await prompt.tried
    const { promptId, complaint } = await watch.inOrder(() => {
      stop.throwIfAborted()
      sent = mayRun = true
      return submitOnce(asked, prompt.clientId, stop, end.signal, patience.answerMs)
    })
    prompt.id = promptId
    if (complaint) throw complaint
    const entry = await untilEnded(prompt, asked, watch)
    mayRun = false
    // If no event told of the end, the connection may be dead: the next prompt gets a new one.
    if (!prompt.toldOfEnd) prompt.retireEvents()
    if (!entry.status.succeeded) throw endFailure(asked, entry)
    // Old servers send no event of success.
    watch.drawn()
    const images = await fetchImages(entry, asked, prompt.downloads)
    watch.finishLater(delay(ERASE_AFTER_MS).then(() => erase(entry)))
    return images
  } catch (error) {
    if (mayRun && stop.aborted) await cancelPrompt(http, prompt.id, end.signal)
    else if (mayRun)
      await withTimeLimit(stop, CANCEL_AFTER_FAILURE_MS, (limited) => cancelPrompt(http, prompt.id, limited))
    if (sent) await erase()
    stop.throwIfAborted()
    if (error instanceof BackendError && error.kind === 'oom') await freeMemory(http)
    throw error
  } finally {
    prompt.unfollow()
    end.clear()
  }
}

const FREE_MS = 5_000

/** Drops the models and results that the server keeps, which the next try may need the memory of. Never fails. */
const freeMemory = (http: ComfyuiAsked['http']): Promise<void> =>
  http
    .postRepeatable('/free', { unload_models: true, free_memory: true }, AbortSignal.timeout(FREE_MS))
    .then(() => undefined)
    .catch(() => undefined)

type Prompt = ReturnType<typeof followPrompt>

/** Follows our prompt by the server's events: its begin, progress, images, failures and end. */
function followPrompt(asked: ComfyuiAsked, { events, stop, patience, report, onPreview, drawn }: Watch) {
  const progress = createProgress(asked.graph.samplers, report)
  const downloads = createDownloads(asked, stop, patience)
  let succeeded = false
  let isHeard = false
  // The prompt of the latest event: all clients get the events of a prompt that has no client, and neither previews nor
  // an old server's progress name their prompt.
  let current: unknown
  let woken = new AbortController()
  const wake = () => woken.abort()
  const onEvent = (event: ServerEvent) => {
    const { type, data } = event
    if (data.prompt_id !== undefined) current = data.prompt_id
    if (type === 'execution_error' && prompt.error?.prompt_id !== prompt.id) prompt.error = data
    if (current !== prompt.id) return
    isHeard = true
    progress(event)
    if (type === 'execution_start' && !prompt.hasBegun) {
      prompt.hasBegun = true
      wake()
    }
    if (type === 'executed') downloads.beginEarly(data.node, data.output)
    if (type === 'execution_success') succeeded = true
    // The only event that comes after the end is in the history, and the server is free.
    if (type === 'executing' && data.node === null) {
      current = undefined
      if (succeeded) drawn()
      if (!prompt.toldOfEnd) wake()
      prompt.toldOfEnd = true
    }
  }
  const showPreview = (preview: Buffer) => {
    if (current === prompt.id) onPreview?.(preview)
  }
  const { clientId, tried, retire, end } = events.follow({ onEvent, onPreview: showPreview })
  stop.addEventListener('abort', wake, { once: true })
  const prompt = {
    /** The attempt's, until an old server replaces it with its own. */
    id: asked.request.attemptId,
    /** Ours, or else the latest of any prompt: it may come before the history has it, and before we know our id. */
    error: undefined as ServerEvent['data'] | undefined,
    clientId,
    downloads,
    tried,
    hasBegun: false,
    toldOfEnd: false,
    /** Whether an event has told since the last call that it is drawn. */
    wasHeard(): boolean {
      const was = isHeard && !prompt.toldOfEnd
      isHeard = false
      return was
    },
    /** Ends early when the prompt begins or ends and when `stop` aborts, also if that was since the last wait. */
    async wait(until: number | Promise<void>): Promise<void> {
      const { signal } = woken
      if (typeof until === 'number') await delay(until, undefined, { signal }).catch(() => undefined)
      else await Promise.race([until, whenAborted(signal)])
      woken = new AbortController()
      stop.throwIfAborted()
    },
    retireEvents: retire,
    unfollow() {
      end()
      downloads.end()
      stop.removeEventListener('abort', wake)
    },
  }
  return prompt
}

/** The prompt's entry in the history. */
async function untilEnded(prompt: Prompt, asked: ComfyuiAsked, watch: Watch) {
  const { http } = asked
  const { id } = prompt
  const { stop, waiting, pollIntervalMs } = watch
  if (watch.after) await prompt.wait(watch.after)
  if (!prompt.hasBegun) await prompt.wait(FIRST_LOOK_MS)
  for (;;) {
    while (prompt.wasHeard()) {
      waiting(0)
      await prompt.wait(pollIntervalMs)
    }
    const found = await askPatiently(http.name, watch.patience, stop, (limited) => lookUp(http, id, limited))
    if (found === 'unknown') {
      const { error } = prompt
      if (error?.prompt_id === id) throw executionFailure(asked, error)
      throw failure('lost', `${http.name} does not know the prompt any more; it was restarted or replaced`)
    }
    if (!('before' in found)) return found
    waiting(found.before)
    if (found.before > 0) await cancelEnded(http, id, watch.hasEnded, stop)
    await prompt.wait(pollIntervalMs)
  }
}
