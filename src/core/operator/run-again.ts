import { type ModelStore, requireAvailable } from '../catalog/model-version.js'
import { AppError } from '../errors.js'
import { parametersOf } from '../generations/generation.js'
import type { SubmitPorts, Submitted } from '../generations/submit/ports.js'
import { submitGeneration } from '../generations/submit/submit.js'
import type { Oversight } from './overview.js'

type RunAgainPorts = SubmitPorts & { readonly models: ModelStore; readonly oversight: Oversight }

/**
 * Submits a failed generation anew, with the same parameters and seed, on behalf of its account and with the same key;
 * it is charged as any other.
 * @throws not_found; invalid_request with what keeps it from being run again
 */
export async function runAgain(ports: RunAgainPorts, id: string, requestId: string): Promise<Submitted> {
  const { oversight, models } = ports
  const failed = await oversight.generation(id)
  if (!failed) throw noSuchGeneration()
  const { status, keyId, modelVersionId, lane, batchSize, seed } = failed
  if (status !== 'failed') throw refused(`Only a failed generation can be run again: this one is ${status}.`)
  const caller = await oversight.callerOf(keyId)
  if (!caller) throw refused('It can not be run again: its key was revoked, or its account deleted.')
  const model = async () => requireAvailable(await models.find(modelVersionId), modelVersionId)
  const request = { ...parametersOf(failed), batchSize, seed }
  try {
    return await submitGeneration(ports, caller, {
      request,
      omitted: [],
      model,
      lane,
      requestId,
      webhookUrl: undefined,
      idempotency: undefined,
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal' || error.code === 'unavailable') throw error
    throw refused(`It can not be run again; its account would be told: ${error.message}`)
  }
}

export const noSuchGeneration = () =>
  new AppError('not_found', 'There is no generation with this ID: check it in the list.')

const refused = (sentence: string) => new AppError('invalid_request', sentence)
