import type { StandInSettings } from './faults.js'
import type { Prompt } from './nodes.js'
import { createExecutor, type QueuedPrompt, type RunResult, type Send } from './runs.js'

export interface QueueOptions {
  readonly settings: StandInSettings
  readonly files: Map<string, Buffer>
  /** To one client's newest socket, or to all. */
  readonly send: (type: string, data: Record<string, unknown>, clientId: string | undefined | 'all') => void
  readonly onExecution: ((ended: Promise<RunResult>, item: QueuedPrompt) => void) | undefined
}

/** The queue, the one prompt that runs, and the history: all that a restart forgets. */
export function createQueue({ settings, files, send, onExecution }: QueueOptions) {
  const run = createExecutor(settings, files)
  let pending: QueuedPrompt[] = []
  let running: { readonly item: QueuedPrompt; readonly stop: AbortController; node: string | undefined } | undefined
  let history: Record<string, object> = {}
  let life = 0

  const remaining = () => ({ exec_info: { queue_remaining: pending.length + (running ? 1 : 0) } })
  const status = () => send('status', { status: remaining() }, 'all')
  const tuple = ({ number, id, prompt, extraData, outputs }: QueuedPrompt) => [number, id, prompt, extraData, outputs]

  async function work(): Promise<void> {
    const item = pending.shift()
    if (running || !item) return
    const mine = { item, stop: new AbortController(), node: undefined as string | undefined }
    const born = life
    running = mine
    const tell: Send = (type, data, to) => {
      if (born !== life) return
      if (type === 'executing') mine.node = String(data.node)
      // Of a prompt without a client all are told its progress, and see its previews.
      const isProgress = type === 'progress' || type === 'progress_state'
      send(type, data, to === 'all' || (isProgress && item.clientId === undefined) ? 'all' : item.clientId)
    }
    const ended = run(item, tell, mine.stop.signal)
    onExecution?.(ended, item)
    const result = await ended
    if (born !== life) return
    running = undefined
    history[item.id] = { prompt: tuple(asRun(item)), ...result, meta: {} }
    status()
    if (item.clientId !== undefined) send('executing', { node: null, prompt_id: item.id }, item.clientId)
    void work()
  }

  function asRun(item: QueuedPrompt): QueuedPrompt {
    if (settings.run !== 'other_seed') return item
    const prompt: Prompt = structuredClone(item.prompt)
    for (const node of Object.values(prompt)) if (node.class_type === 'KSampler') node.inputs.seed = 1
    return { ...item, prompt }
  }

  return {
    put(item: QueuedPrompt): void {
      pending.push(item)
      pending.sort((a, b) => a.number - b.number)
      status()
      if (!running) void work()
    },
    /** Without an id: whatever runs. */
    interrupt(id?: string): void {
      if (id === undefined || running?.item.id === id) running?.stop.abort()
    },
    remove(ids: readonly unknown[]): void {
      pending = pending.filter(({ id }) => !ids.includes(id))
    },
    has: (id: string) => running?.item.id === id || pending.some((item) => item.id === id),
    ids: () => [...(running ? [running.item] : []), ...pending].map(({ id }) => id),
    view: () => ({ queue_running: running ? [tuple(running.item)] : [], queue_pending: pending.map(tuple) }),
    history: (id: string) => (history[id] ? { [id]: history[id] } : {}),
    ends: () => Object.values(history),
    forgetEnds(ids: readonly unknown[]): void {
      for (const id of ids) delete history[String(id)]
    },
    remaining,
    /** The node that runs for this client, told to it when it connects again. */
    nodeOf: (clientId: string) => (running?.item.clientId === clientId ? running.node : undefined),
    /** As after a restart: nobody is told anything. */
    forget(): void {
      life++
      running?.stop.abort()
      running = undefined
      pending = []
      history = {}
    },
  }
}

export type Queue = ReturnType<typeof createQueue>
