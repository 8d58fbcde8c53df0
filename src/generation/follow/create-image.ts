import { generationFailed, generationTimedOut, shuttingDown } from '../../errors.js'
import { failpoint } from '../../failpoint.js'
import { type CancelPorts, cancelGeneration } from '../cancel.js'
import type { GenerationWatch } from '../follow-ports.js'
import type { GenerationView } from '../generation.js'
import type { SubmitPorts, Submitted } from '../submit/submit.js'
import { waitForEnd } from './wait.js'

export type CreateImagePorts = SubmitPorts & CancelPorts & { readonly watch: GenerationWatch }

export interface WaitOptions {
  readonly timeoutSeconds: number
  /** Aborts when the client is gone: the wait ends, the generation goes on. */
  readonly gone: AbortSignal
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
}

const NO_GPU_IN_TIME = 'Canceled: no GPU was free in time. Please try again later.'

/**
 * Waits for the picture of a submitted generation, holding no database connection. Nothing is given back here while it
 * may still come: only a generation that has not started is canceled at the time-out.
 * @throws generation_failed, timeout or unavailable
 */
export async function waitForPicture(
  ports: CreateImagePorts,
  { id }: Submitted,
  { timeoutSeconds, gone, leaving }: WaitOptions,
): Promise<GenerationView> {
  await failpoint('create_image.before_wait')
  const ended = await waitForEnd(ports.watch, id, timeoutSeconds * 1000, [gone, leaving])
  if (!ended) {
    if (leaving.aborted || gone.aborted) throw shuttingDown(id)
    await failpoint('create_image.before_cancel')
    const canceled = await cancelGeneration(ports, id, NO_GPU_IN_TIME, { onlyQueued: true })
    throw generationTimedOut(id, timeoutSeconds, !canceled)
  }
  if (ended.status === 'failed') throw generationFailed(ended.error ?? '')
  return ended
}
