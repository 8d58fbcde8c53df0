import { createSdCppBackend, type SdCppOptions } from '../../../src/inference/sdcpp/sdcpp-backend.js'
import { type SdCppStandIn, type SdCppStandInOptions, startSdCppStandIn } from '../../stand-ins/sdcpp/sdcpp-stand-in.js'
import { attached } from '../given.js'

export async function givenBackend(standInOptions: SdCppStandInOptions = {}, options: Partial<SdCppOptions> = {}) {
  const standIn = await startSdCppStandIn(standInOptions)
  const times = { timeoutMs: 60_000, pollIntervalMs: 10, answerMs: 60_000, cancelGraceMs: 60_000 }
  return attached(standIn, createSdCppBackend(standIn.inferenceUrl, { ...times, ...options }))
}

/** How many calls the server has had whose path ends so. */
export const callsTo = (standIn: SdCppStandIn, end: string) =>
  standIn.journal.filter(({ path }) => path.endsWith(end)).length

/** Resolves when the server has been asked for a job. */
export const looked = (standIn: SdCppStandIn) =>
  standIn.seen(({ method, path }) => method === 'GET' && path.includes('/jobs/'))
