import type { Caller } from '../../account/account.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import { priceOf } from '../generation.js'
import type { Submission, SubmitPorts } from './submission.js'
import { requireAcceptable } from './submit.js'

export interface DryRun {
  readonly model: ModelVersion
  readonly creditsNeeded: number
  readonly creditsHeld: number
  /** The charged generation that a submit would have to wait for. */
  readonly activeGenerationId: string | undefined
}

/**
 * What a submit would do, without doing any of it: nothing is charged, locked, stored or queued.
 * @throws as submitGeneration, except for an active generation and for missing credits, which the answer tells
 */
export async function dryRunGeneration(
  { moderator, submissions }: Pick<SubmitPorts, 'moderator' | 'submissions'>,
  caller: Caller,
  submission: Pick<Submission, 'request' | 'model'>,
): Promise<DryRun> {
  const model = await requireAcceptable(moderator, caller, submission)
  return {
    model,
    creditsNeeded: priceOf(submission.request, model),
    creditsHeld: caller.account.credits,
    activeGenerationId: await submissions.activeGeneration(caller.account.id),
  }
}
