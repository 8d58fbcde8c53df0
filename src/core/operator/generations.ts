/** Generations of any account. */
import type { Page, PageRequest } from '../../lib/page.js'
import type { CancelAllPorts } from '../accounts/delete-account.js'
import { AppError } from '../errors.js'
import type { CancelStore } from '../generations/cancel.js'
import { CANCELED } from '../generations/failure-reason.js'
import { GENERATION_ID, type Generation, type GenerationStatus } from '../generations/generation.js'
import type { Acting } from './acting.js'

/** In the operator's list. */
export interface ListedGeneration
  extends Pick<Generation, 'id' | 'lane' | 'metered' | 'modelVersionId' | 'modelName' | 'batchSize' | 'cost'> {
  readonly status: GenerationStatus
  readonly username: string
  readonly error: string | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface GenerationFilter {
  readonly status: GenerationStatus | undefined
  readonly accountId: string | undefined
}

export interface CancelStores {
  readonly cancels: CancelStore
  readonly generations: CancelAllPorts['generations'] & {
    /** Newest first; of any account, deleted ones too. */
    list(filter: GenerationFilter, page: PageRequest): Promise<Page<ListedGeneration>>
    statusOf(id: string): Promise<GenerationStatus | undefined>
  }
}

/** Ends a queued or running generation, and gives its credits back. @throws not_found, invalid_request */
export async function cancelAsOperator(acting: Acting<CancelStores>, id: string): Promise<void> {
  const { generations } = acting.stores
  const status = GENERATION_ID.test(id) ? await generations.statusOf(id) : undefined
  if (!status) throw noSuchGeneration(id)
  const isActive = status === 'queued' || status === 'processing'
  if (isActive && (await endGeneration(acting, id, { isOwnAct: true }))) return
  throw new AppError(
    'invalid_request',
    `Generation ${id} has already ended (${await generations.statusOf(id)}): only a queued or processing one can be canceled.`,
  )
}

/** @param isOwnAct false: it is part of another act, which is recorded. False: it has already ended */
export async function endGeneration(
  acting: Acting<CancelStores>,
  id: string,
  { isOwnAct = false } = {},
): Promise<boolean> {
  const ended = await acting.recorded(
    ({ cancels }) => cancels.cancel(id, CANCELED, { onlyQueued: false }),
    (it) => (it && isOwnAct ? ['canceled generation', id] : undefined),
  )
  if (ended) await acting.outside.clearLeftovers(ended)
  return ended !== undefined
}

export const noSuchGeneration = (id: string) =>
  new AppError('not_found', `No generation has the ID "${id}".`, { parameter: 'generation_id' })
