/** What a subscriber reads when a generation fails: one sentence each, without hosts, paths or traces. */
import { BackendError } from './run/backend.js'

const SUBMIT_AGAIN = 'Please submit it again.'

export const CANCELED = 'Canceled.'
/** Of Create Image, whose callers wait for a limited time. */
export const NO_GPU_IN_TIME = 'Canceled: no GPU was free in time. Please try again later.'
export const DEADLINE_PASSED = `The generation was not finished before its deadline. ${SUBMIT_AGAIN}`
export const WORKER_LOST = `The generation could not be finished: the GPU workers running it stopped several times. ${SUBMIT_AGAIN}`
export const NOT_STORED = `The images were drawn but could not be stored. ${SUBMIT_AGAIN}`
export const TOO_LARGE_TO_STORE = 'The image is too large to be stored. Choose a smaller width and height.'
export const IMAGE_REFUSED = 'An image was refused by moderation.'
export const IMAGE_UNCHECKED = `The images could not be checked by moderation before they are published. ${SUBMIT_AGAIN}`
const INTERNAL = `The generation failed because of an internal error. ${SUBMIT_AGAIN}`

/** Whether a generation with this message was canceled rather than failed. */
export const isCancellation = (error: string): boolean => error === CANCELED || error === NO_GPU_IN_TIME

/** The subscriber's message for an error of the last try. */
export const publicReason = (error: unknown): string => (error instanceof BackendError ? error.publicMessage : INTERNAL)
