import type { Account } from '../account/account.js'
import { generationNotFound } from '../errors.js'
import { GENERATION_ID, type GenerationView } from './generation.js'
import type { PollStore, ProgressBoard, QueuePositions } from './ports.js'

export interface PollPorts {
  readonly polls: PollStore
  readonly positions: QueuePositions
  readonly progress: ProgressBoard
}

export type Polled = GenerationView & {
  /** While queued. */
  readonly queuePosition?: number
  /** While processing, 0 to 1. */
  readonly progress?: number
}

/**
 * One of the caller's own generations, without side effects.
 * @throws not_found, alike for another account's and for one that never was
 */
export async function pollGeneration(ports: PollPorts, account: Account, id: string): Promise<Polled> {
  const generation = GENERATION_ID.test(id) ? await ports.polls.findOwned(account.id, id) : undefined
  if (!generation) throw generationNotFound()
  if (generation.status === 'queued') return { ...generation, queuePosition: await ports.positions.of(generation) }
  if (generation.status === 'processing') {
    // Live progress is decoration: its absence is no failure.
    const progress = await ports.progress.get(id).catch(() => undefined)
    return { ...generation, progress: progress ?? 0 }
  }
  return generation
}
