/** What a subscriber reads when a generation fails: one sentence each, without hosts, paths or traces. */
import { BackendError } from './run/backend.js'

/** Faults that name the job are tried this many times in all. */
export const MAX_TRIES = 3
/** So many workers may die under a generation: the last one fails it. */
export const MAX_DEATHS = 5

const GIVEN_BACK = 'Please submit it again.'

export const CANCELED = 'Canceled.'
export const DEADLINE_PASSED = `The generation was not finished before its deadline. ${GIVEN_BACK}`
export const WORKER_LOST = `The generation could not be finished: the GPU workers running it stopped several times. ${GIVEN_BACK}`
export const INTERNAL = `The generation failed because of an internal error. ${GIVEN_BACK}`

/** What to tell the subscriber about an error of the last try. */
export const publicReason = (error: unknown): string => (error instanceof BackendError ? error.publicMessage : INTERNAL)
