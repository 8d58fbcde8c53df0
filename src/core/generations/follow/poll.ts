import type { Account } from '../../accounts/account.js'
import { generationNotFound } from '../../errors.js'
import { GENERATION_ID, type GenerationView } from '../generation.js'
import type { ProgressBoard } from '../ports.js'

export interface PollStore {
  /** The account's own generation; undefined for another account's, too. */
  findOwned(accountId: string, id: string): Promise<GenerationView | undefined>
}

export interface QueuePositions {
  /** The 1-based position over both lanes, at most half a second old. */
  of(generation: Pick<GenerationView, 'lane' | 'seq'>): Promise<number>
}

export interface PollPorts {
  readonly polls: PollStore
  readonly positions: QueuePositions
  readonly progress: ProgressBoard
}

export interface Progress {
  /** 0 to 1; undefined while unknown. */
  readonly progress: number | undefined
  /** How many other requests its GPU server runs first, if it says so. */
  readonly before: number
}

export type PolledStatus =
  | { readonly status: 'queued'; readonly queuePosition: number }
  | (Progress & { readonly status: 'processing' })
  | { readonly status: 'succeeded' | 'failed' }

export type Polled = Omit<GenerationView, 'status'> & PolledStatus

export const hasEnded = ({ status }: Pick<Polled, 'status'>): boolean => status === 'succeeded' || status === 'failed'

/** Reads one of the caller's own generations. @throws not_found, as findOwned */
export async function pollGeneration(ports: PollPorts, account: Account, id: string): Promise<Polled> {
  requireWellFormed(id)
  // Read beside the row, also where it turns out not to be needed: that is cheaper than one after the other.
  const progress = readProgress(ports, id)
  return withState(ports, await findOwned(ports, account, id), progress)
}

/** Adds its place or its progress to a generation that was just read. */
export async function withState(
  ports: Pick<PollPorts, 'positions' | 'progress'>,
  generation: GenerationView,
  progress?: Promise<Progress | undefined>,
): Promise<Polled> {
  const { id, status } = generation
  if (status === 'queued') return { ...generation, status, queuePosition: await ports.positions.of(generation) }
  if (status !== 'processing') return { ...generation, status }
  return { ...generation, status, ...progressFrom(), ...(await (progress ?? readProgress(ports, id))) }
}

/** Adds the current progress; the poll also succeeds if that cannot be read. */
export async function withProgress(ports: Pick<PollPorts, 'progress'>, polled: Polled): Promise<Polled> {
  return polled.status === 'processing' ? { ...polled, ...(await readProgress(ports, polled.id)) } : polled
}

/** Resolves to undefined if nothing is known now. */
const readProgress = ({ progress }: Pick<PollPorts, 'progress'>, id: string): Promise<Progress | undefined> =>
  progress.get(id).then(
    (value) => (value === undefined ? undefined : progressFrom(value)),
    () => undefined,
  )

/** Before any read that is joined with those of others: what Postgres refuses would fail for all of them. */
function requireWellFormed(id: string): void {
  if (!GENERATION_ID.test(id)) throw generationNotFound()
}

/** Decodes a value of the progress board; without one, nothing is known. */
export const progressFrom = (value = -1): Progress =>
  value < 0 ? { progress: undefined, before: -1 - value } : { progress: value, before: 0 }

/** @throws not_found, alike for another account's generation and for one that does not exist */
export async function findOwned({ polls }: Pick<PollPorts, 'polls'>, account: Account, id: string) {
  requireWellFormed(id)
  const generation = await polls.findOwned(account.id, id)
  if (!generation) throw generationNotFound()
  return generation
}
