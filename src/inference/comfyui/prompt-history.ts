import { setTimeout as delay } from 'node:timers/promises'
import { FormData } from 'undici'
import { z } from 'zod'
import { BackendError, type BackendErrorKind, type InferenceRequest } from '../../core/generations/run/backend.js'
import { timeLimit, type Work, withTimeLimit } from '../../lib/abort-signals.js'
import { failure } from '../backend-failure.js'
import type { HttpReply, ServerHttp } from '../server-http.js'
import { describeUnexpected, parsedJson, replyFailure } from '../server-reply.js'

/** Its type and its data; one of another form has no type. */
const message = z.tuple([z.string(), z.record(z.string(), z.unknown())], z.unknown()).catch(['', {}])

const status = z.object({ status_str: z.string(), messages: z.array(message).nullish() })
const historyEntry = z.object({
  prompt: z.unknown(),
  outputs: z.record(z.string(), z.unknown()),
  /** Absent in old versions, which keep only what succeeded. */
  status: status.nullish().transform((said) => ({
    succeeded: !said || said.status_str === 'success',
    messages: said?.messages ?? [],
  })),
})
const savedFile = z.object({ filename: z.string(), subfolder: z.string(), type: z.string() })
export type SavedFile = z.infer<typeof savedFile>
const savedImages = z.object({ images: z.array(savedFile) })

/** The files that an output node reports as saved. */
export const savedFiles = (output: unknown) => savedImages.safeParse(output).data?.images ?? []

const queueReply = z.object({ queue_running: z.array(z.unknown()), queue_pending: z.array(z.unknown()) })

/** How a prompt ended, as the server keeps it in memory until it restarts. */
export type HistoryEntry = z.infer<typeof historyEntry>

/**
 * How a prompt ended, or how many others come before it: 0 while it runs. `unknown` is certain: the server moves it
 * from the queue to the history in one step, and the history is read again after the queue.
 * @throws BackendError, or the signal's reason
 */
export async function lookUp(http: ServerHttp, promptId: string, signal: AbortSignal) {
  const entry = await readHistory(http, promptId, signal)
  if (entry) return entry
  const { running, pending } = await readQueue(http, signal)
  if (running.some(({ id }) => id === promptId)) return { before: 0 }
  // Approximate: the queue is a heap.
  const place = pending.findIndex(({ id }) => id === promptId)
  if (place >= 0) return { before: running.length + place }
  return (await readHistory(http, promptId, signal)) ?? ('unknown' as const)
}

async function readHistory(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<HistoryEntry | undefined> {
  const reply = await http.get(`/history/${encodeURIComponent(promptId)}`, signal)
  const entry = readJson(http.name, reply, z.record(z.string(), z.unknown()))[promptId]
  if (entry === undefined) return undefined
  const { data } = historyEntry.safeParse(entry)
  if (!data) throw failure('bad_output', `${http.name} has a history of an unknown form`)
  return data
}

/** The prompts that run (one, but for custom servers) and that wait. */
export async function readQueue(http: ServerHttp, signal: AbortSignal) {
  const queue = readJson(http.name, await http.get('/queue', signal), queueReply)
  return { running: queue.queue_running.map(toQueuedPrompt), pending: queue.queue_pending.map(toQueuedPrompt) }
}

/** Of `[number, id, graph, extra_data, …]`; what follows differs from version to version. */
const toQueuedPrompt = (item: unknown) => {
  const [, id, , extra] = Array.isArray(item) ? item : []
  return { id: String(id), attempt: attemptOf(extra) }
}

/** Marks a prompt as ours: the server's queue shows the extra data of each. */
export const markOf = ({ attempt }: InferenceRequest) => ({ easel_attempt: attempt })

const mark = z.string().optional().catch(undefined)
const extraData = z.object({ easel_attempt: mark, client_id: mark }).catch({})
/** Easel 0.2 and older marked the client instead. */
const OUR_CLIENT = 'easel:'

/** The attempt's name, or undefined where the prompt is not one of ours. */
function attemptOf(extra: unknown): string | undefined {
  const { easel_attempt: attempt, client_id: client } = extraData.parse(extra)
  return attempt ?? (client?.startsWith(OUR_CLIENT) ? client.slice(OUR_CLIENT.length) : undefined)
}

/** Parses a 200. @throws BackendError `unusable` or the status's; without the body, which holds prompts */
export function readJson<T>(server: string, { status, text }: HttpReply, form: z.ZodType<T>): T {
  if (status !== 200) throw replyFailure(server, status)
  const body = parsedJson(text, form)
  if (body === undefined)
    throw failure('unusable', `${server} answered as ComfyUI does not, with ${describeUnexpected(text, form)}`)
  return body
}

const RETRY_MS = 200
const ERASE_MS = 2_000
const TEMPORARY: readonly BackendErrorKind[] = ['unavailable', 'unusable', 'lost', 'busy', 'backend_fault']

/** For how long a server that has our prompt may not answer before the prompt counts as lost. */
export const PATIENCE = {
  /** The time limit of one request, which is then repeated. */
  answerMs: 10_000,
  /** While connections are refused or dropped, or a proxy answers instead. */
  awayMs: 5_000,
  /** While requests get no answer: a server may not answer while it loads a checkpoint. */
  silentMs: 60_000,
}
export type Patience = typeof PATIENCE

/**
 * Retries a request until it is answered, so that a dropped connection does not discard the GPU's work.
 * @throws BackendError `lost` when the time is up, a permanent one immediately; the signal's reason when it aborted
 */
export async function askPatiently<T>(server: string, patience: Patience, stop: AbortSignal, ask: Work<T>): Promise<T> {
  const since = performance.now()
  for (;;) {
    const limit = timeLimit(stop, patience.answerMs)
    try {
      return await ask(limit.signal)
    } catch (error) {
      stop.throwIfAborted()
      const silent = limit.isOver()
      if (!silent && !(error instanceof BackendError && TEMPORARY.includes(error.kind))) throw error
      const said = error instanceof BackendError ? error.message : `${server} did not answer`
      if (performance.now() - since > (silent ? patience.silentMs : patience.awayMs))
        throw failure('lost', `${said}, for too long`, error)
    } finally {
      limit.clear()
    }
    await delay(RETRY_MS, undefined, { signal: stop })
  }
}

/**
 * Erases an ended prompt from the server: replaces its images by empty files, since files cannot be deleted, and
 * deletes its entry in the history, which has the texts. Never fails: a server clears both at its next start.
 * @param known its entry, where it has been read already
 */
export const eraseTraces = (
  http: ServerHttp,
  promptId: string,
  signal: AbortSignal,
  known?: HistoryEntry,
): Promise<void> =>
  withTimeLimit(signal, ERASE_MS, async (limited) => {
    const entry = known ?? (await readHistory(http, promptId, limited))
    const files = Object.values(entry?.outputs ?? {}).flatMap(savedFiles)
    const emptied = files.map(({ filename, subfolder, type }) => {
      const form = new FormData()
      form.append('image', new Blob([]), filename)
      for (const [name, value] of Object.entries({ subfolder, type, overwrite: 'true' })) form.append(name, value)
      return http.postRepeatable('/upload/image', form, limited)
    })
    await Promise.allSettled([...emptied, http.postRepeatable('/history', { delete: [promptId] }, limited)])
  }).catch(() => undefined)
