import { type ModelStore, requireAvailable } from '../catalog/model-version.js'
import { AppError } from '../errors.js'
import { GENERATION_ID, parametersOf } from '../generations/generation.js'
import type { Submission, SubmitPorts, Submitted } from '../generations/submit/ports.js'
import { submitGeneration } from '../generations/submit/submit.js'
import { noSuchGeneration } from './generations.js'
import type { ActedBy, OperatorActions } from './operator-actions.js'
import type { Oversight } from './overview.js'

type RunAgainPorts = SubmitPorts & {
  readonly models: ModelStore
  readonly oversight: Oversight
  readonly operatorActions: OperatorActions
}

/**
 * Submits a failed generation anew, with the same parameters and seed, on behalf of its account and with the same key;
 * it is charged as any other.
 * @throws not_found; invalid_request with what keeps it from being run again
 */
export async function runAgain(
  ports: RunAgainPorts,
  by: ActedBy,
  id: string,
  { requestId, idempotency }: Pick<Submission, 'requestId' | 'idempotency'>,
): Promise<Submitted> {
  const { oversight, models, operatorActions } = ports
  const failed = GENERATION_ID.test(id) ? await oversight.generation(id) : undefined
  if (!failed) throw noSuchGeneration(id)
  const { status, keyId, modelVersionId, lane, batchSize, seed } = failed
  if (status !== 'failed') throw refused(`Only a failed generation can be run again: this one is ${status}.`)
  if (failed.prompt === '') throw refused('It can not be run again: its prompt is no longer kept.')
  const caller = await oversight.callerOf(keyId)
  if (!caller) throw refused('It can not be run again: its key was revoked, or its account deleted.')
  const model = async () => requireAvailable(await models.find(modelVersionId), modelVersionId)
  const request = { ...parametersOf(failed), batchSize, seed }
  // Before it is submitted, which is a transaction of its own and needs Redis: nothing is done without a record.
  await operatorActions.record({ ...by, action: 'asked to run it again', target: id })
  try {
    const submitted = await submitGeneration(ports, caller, {
      request,
      omitted: [],
      model,
      lane,
      requestId,
      webhookUrl: undefined,
      idempotency,
    })
    if (!submitted.replayed) await operatorActions.record({ ...by, action: `ran again as ${submitted.id}`, target: id })
    return submitted
  } catch (error) {
    if (!(error instanceof AppError) || PASSED_ON.has(error.code)) throw error
    throw refused(`It can not be run again; its account would be told: ${error.message}`)
  }
}

/** What is said of the request itself, not of the account. */
const PASSED_ON: ReadonlySet<string> = new Set([
  'internal',
  'unavailable',
  'idempotency_mismatch',
  'idempotency_in_flight',
])

const refused = (sentence: string) => new AppError('invalid_request', sentence)
