import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, generationFailed, pictureRemoved } from '../../errors.js'
import { sayWhenFree } from '../../generation/follow/eta.js'
import { waitForPicture } from '../../generation/follow/wait.js'
import type { Submission, Submitted } from '../../generation/submit/submission.js'
import { submitGeneration } from '../../generation/submit/submit.js'
import { clientGone } from '../client-gone.js'
import { tellSubmitted } from '../submitted-headers.js'
import type { CreateImageApiOptions } from './plugin.js'
import { inOwnWords } from './presets.js'

/** More than the GPUs behind one server draw while they wait. */
const MAX_WAITING = 1000

export interface CreatedPictures {
  readonly submitted: Submitted
  /** In batch order; pictures that were removed since are absent. */
  readonly slugs: readonly [string, ...string[]]
}

/**
 * Submits a generation and waits for its pictures.
 * @throws whatever submitGeneration and waitForPicture do; rate_limited when too many wait already
 */
export type CreatePictures = (
  request: FastifyRequest,
  reply: FastifyReply,
  submission: Omit<Submission, 'lane'>,
) => Promise<CreatedPictures>

/** All routes of this scope that wait share one count of those that do. */
export function pictureCreation(options: CreateImageApiOptions): CreatePictures {
  const { ports, timeoutSeconds, leaving, maxWaiting = MAX_WAITING } = options
  let waiting = 0

  return async (request, reply, submission) => {
    // Before anything is charged.
    if (waiting >= maxWaiting) throw tooManyWaiting()
    waiting++
    try {
      const submitting = submitGeneration(ports, request.caller, { ...submission, lane: 'create_image' })
      const submitted = await sayWhenFree(ports, request.caller.account, submitting)
      tellSubmitted(reply, submitted)
      const gone = clientGone(request, reply)
      request.leavePlace?.()
      const { slugs } = await waitForPicture(ports, submitted, { timeoutSeconds, gone, leaving }).catch((error) => {
        const hasFailed = error instanceof AppError && error.code === 'generation_failed'
        throw hasFailed ? generationFailed(inOwnWords(error.message)) : error
      })
      const [first, ...others] = slugs
      if (first === undefined) throw pictureRemoved()
      return { submitted, slugs: [first, ...others] }
    } finally {
      waiting--
    }
  }
}

const tooManyWaiting = () =>
  new AppError(
    'rate_limited',
    'So many pictures are being waited for that the rate limit of this server is reached. Try again in 5 s.',
    { retryAfterSeconds: 5 },
  )
