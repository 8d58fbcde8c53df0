/** Generations of any account. */
import type { CancelAllPorts } from '../accounts/delete-account.js'
import { AppError } from '../errors.js'
import type { CancelStore } from '../generations/cancel.js'
import { CANCELED } from '../generations/failure-reason.js'
import type { GenerationStatus } from '../generations/generation.js'
import type { Acting } from './acting.js'

export interface CancelStores {
  readonly cancels: CancelStore
  readonly generations: CancelAllPorts['generations'] & {
    statusOf(id: string): Promise<GenerationStatus | undefined>
  }
}

/** Ends a queued or running generation, and gives its credits back. @throws not_found, invalid_request */
export async function cancelAsOperator(acting: Acting<CancelStores>, id: string): Promise<void> {
  const { generations } = acting.stores
  const status = await generations.statusOf(id)
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
