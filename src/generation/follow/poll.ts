import type { Account } from '../../account/account.js'
import { generationNotFound } from '../../errors.js'
import { GENERATION_ID, type GenerationView } from '../generation.js'
import type { ProgressBoard } from '../shared-ports.js'

export interface PollStore {
  /** The account's own generation; another account's is as absent as one that never existed. */
  findOwned(accountId: string, id: string): Promise<GenerationView | undefined>
}

export interface QueuePositions {
  /** 1 for the next one up, over the whole queue, at most half a second old. */
  of(generation: Pick<GenerationView, 'lane' | 'seq'>): Promise<number>
}

export interface PollPorts {
  readonly polls: PollStore
  readonly positions: QueuePositions
  readonly progress: ProgressBoard
}

export interface Progress {
  /** 0 to 1; undefined while that is not known. */
  readonly progress: number | undefined
  /** How many other requests its GPU server does first, as far as it tells. */
  readonly before: number
}

export type PolledStatus =
  | { readonly status: 'queued'; readonly queuePosition: number }
  | (Progress & { readonly status: 'processing' })
  | { readonly status: 'succeeded' | 'failed' }

export type Polled = Omit<GenerationView, 'status'> & PolledStatus

export const hasEnded = ({ status }: Pick<Polled, 'status'>): boolean => status === 'succeeded' || status === 'failed'

/** One of the caller's own generations, without side effects. @throws not_found, as findOwned */
export async function pollGeneration(ports: PollPorts, account: Account, id: string): Promise<Polled> {
  const generation = await findOwned(ports, account, id)
  const { status } = generation
  if (status === 'queued') return { ...generation, status, queuePosition: await ports.positions.of(generation) }
  if (status !== 'processing') return { ...generation, status }
  return withProgress(ports, { ...generation, ...BEGUN })
}

/** Adds the progress as it is now; without it the poll succeeds, too. */
export async function withProgress(ports: Pick<PollPorts, 'progress'>, polled: Polled): Promise<Polled> {
  if (polled.status !== 'processing') return polled
  const value = (await ports.progress.get([polled.id]).catch(() => undefined))?.get(polled.id)
  return value === undefined ? polled : { ...polled, ...drawnSoFar(value) }
}

/** As long as nothing is known of its progress. */
export const BEGUN = { status: 'processing', progress: undefined, before: 0 } as const

/** What a value on the progress board says. */
export const drawnSoFar = (value: number): Progress =>
  value < 0 ? { progress: undefined, before: -1 - value } : { progress: value, before: 0 }

/** @throws not_found, alike for another account's and for one that never was */
export async function findOwned(
  { polls }: Pick<PollPorts, 'polls'>,
  account: Account,
  id: string,
): Promise<GenerationView> {
  const generation = GENERATION_ID.test(id) ? await polls.findOwned(account.id, id) : undefined
  if (!generation) throw generationNotFound()
  return generation
}
