import type { Caller } from '../account/account.js'
import { generationFailed, generationTimedOut, shuttingDown } from '../errors.js'
import { type CancelPorts, cancelGeneration } from './cancel.js'
import type { GenerationView } from './generation.js'
import type { FinishedGenerations } from './ports.js'
import { type Submission, type SubmitPorts, type Submitted, submitGeneration } from './submit.js'

export type CreateImagePorts = SubmitPorts & CancelPorts & { readonly finished: FinishedGenerations }

export interface CreateImageOptions {
  readonly timeoutSeconds: number
  /** Aborts when the client is gone: the wait ends, the generation goes on. */
  readonly gone: AbortSignal
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
}

const NO_GPU_IN_TIME = 'Canceled: no GPU was free in time. Please try again later.'

export type CreatedImage = Submitted & { readonly ended: GenerationView }

/**
 * Submits one generation and waits for its end, holding no database connection. Nothing is given back here while the
 * picture may still come: only a generation that has not started is canceled at the time-out.
 * @throws generation_failed, timeout, unavailable, and what submitGeneration throws
 */
export async function createImage(
  ports: CreateImagePorts,
  caller: Caller,
  submission: Submission,
  { timeoutSeconds, gone, leaving }: CreateImageOptions,
): Promise<CreatedImage> {
  const submitted = await submitGeneration(ports, caller, submission)
  const { id } = submitted
  const ended = await ports.finished.wait(id, timeoutSeconds * 1000, AbortSignal.any([gone, leaving]))
  if (!ended) {
    if (leaving.aborted || gone.aborted) throw shuttingDown(id)
    const canceled = await cancelGeneration(ports, id, NO_GPU_IN_TIME, { onlyQueued: true })
    throw generationTimedOut(id, timeoutSeconds, !canceled)
  }
  if (ended.status === 'failed') throw generationFailed(ended.error ?? '')
  return { ...submitted, ended }
}
