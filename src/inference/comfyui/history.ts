import { z } from 'zod'
import { failure } from '../failure.js'
import { replyFailure } from '../reply-failure.js'
import type { HttpReply, ServerHttp } from '../server-http.js'

const message = z.tuple([z.string(), z.record(z.string(), z.unknown())]).rest(z.unknown())

const historyEntry = z.object({
  prompt: z.unknown(),
  outputs: z.record(z.string(), z.unknown()),
  /** Absent in old versions, which keep only what succeeded. */
  status: z
    .object({ status_str: z.string(), messages: z.array(z.unknown()).nullish() })
    .nullish()
    .transform((status) => ({
      succeeded: !status || status.status_str === 'success',
      messages: (status?.messages ?? []).flatMap((item) => {
        const { data } = message.safeParse(item)
        return data ? [{ type: data[0], data: data[1] }] : []
      }),
    })),
})
const queueReply = z.object({ queue_running: z.array(z.unknown()), queue_pending: z.array(z.unknown()) })

/** How a prompt ended, as the server keeps it in memory until it restarts. */
export type HistoryEntry = z.infer<typeof historyEntry>

/** The ids of the prompts that run (one, but for custom servers) and that wait. */
export interface Queue {
  readonly running: readonly unknown[]
  readonly pending: readonly unknown[]
}

/**
 * Where a prompt is. `unknown` is certain: the server takes it from the queue and puts it into the history in one step,
 * so the history is read once more after the queue.
 * @throws BackendError, or the signal's reason
 */
export async function lookUp(
  http: ServerHttp,
  promptId: string,
  signal: AbortSignal,
): Promise<HistoryEntry | 'queued' | 'unknown'> {
  const entry = await readHistory(http, promptId, signal)
  if (entry) return entry
  const { running, pending } = await readQueue(http, signal)
  if (running.includes(promptId) || pending.includes(promptId)) return 'queued'
  return (await readHistory(http, promptId, signal)) ?? 'unknown'
}

async function readHistory(http: ServerHttp, promptId: string, signal: AbortSignal): Promise<HistoryEntry | undefined> {
  const reply = await http.get(`/history/${encodeURIComponent(promptId)}`, signal)
  const entry = readJson(http.name, reply, z.record(z.string(), z.unknown()))[promptId]
  if (entry === undefined) return undefined
  const { data } = historyEntry.safeParse(entry)
  if (!data) throw failure('bad_output', `${http.name} has a history of an unknown form`)
  return data
}

export async function readQueue(http: ServerHttp, signal: AbortSignal): Promise<Queue> {
  const queue = readJson(http.name, await http.get('/queue', signal), queueReply)
  // The other places of an item differ from version to version.
  const idOf = (item: unknown): unknown => (Array.isArray(item) ? item[1] : undefined)
  return { running: queue.queue_running.map(idOf), pending: queue.queue_pending.map(idOf) }
}

/**
 * The body of a 200 in the form that is expected.
 * @throws BackendError `unavailable` or what the status means; it does not repeat the body, which holds prompts
 */
export function readJson<T>(server: string, { status, text }: HttpReply, form: z.ZodType<T>): T {
  if (status !== 200) throw replyFailure(server, status, '')
  try {
    return form.parse(JSON.parse(text))
  } catch {
    throw failure('unavailable', `${server} answered with something that is not ComfyUI's`)
  }
}
