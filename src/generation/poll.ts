import type { Account } from '../account/account.js'
import { generationNotFound } from '../errors.js'
import { GENERATION_ID, type GenerationView } from './generation.js'
import type { PollStore, ProgressBoard, QueuePositions } from './ports.js'

export interface PollPorts {
  readonly polls: PollStore
  readonly positions: QueuePositions
  readonly progress: ProgressBoard
}

/** `queuePosition`: 1 for the next one up; `progress`: 0 to 1. */
export type Polled = Omit<GenerationView, 'status'> &
  (
    | { readonly status: 'queued'; readonly queuePosition: number }
    | { readonly status: 'processing'; readonly progress: number }
    | { readonly status: 'succeeded' | 'failed' }
  )

/**
 * One of the caller's own generations, without side effects.
 * @throws not_found, alike for another account's and for one that never was
 */
export async function pollGeneration(ports: PollPorts, account: Account, id: string): Promise<Polled> {
  const generation = GENERATION_ID.test(id) ? await ports.polls.findOwned(account.id, id) : undefined
  if (!generation) throw generationNotFound()
  const { status } = generation
  if (status === 'queued') return { ...generation, status, queuePosition: await ports.positions.of(generation) }
  if (status !== 'processing') return { ...generation, status }
  // Live progress is decoration: its absence is no failure.
  const progress = await ports.progress.get(id).catch(() => undefined)
  return { ...generation, status, progress: progress ?? 0 }
}
