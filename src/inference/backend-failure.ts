import type { Sampler } from '../core/generations/generation.js'
import { BackendError, type BackendErrorKind } from '../core/generations/run/backend.js'
import { codesOf, isTlsFailure, isUnreached, reasonOf } from '../lib/causes.js'

/** The subscriber's messages; hosts, paths and exception texts stay in `message`, for the logs. */
const PUBLIC: Record<BackendErrorKind, string> = {
  unavailable: 'The GPU servers cannot be reached right now.',
  busy: 'The GPU servers are busy right now.',
  auth: 'The GPU servers cannot be used right now.',
  unusable: 'The GPU servers cannot be used right now.',
  lost: 'The connection to the GPU server was lost.',
  timeout: 'The generation took too long and was stopped.',
  oom: 'The GPU ran out of memory; try a smaller size or fewer images.',
  backend_fault: 'The GPU server failed while generating.',
  bad_output: 'The GPU server returned an unusable result.',
  invalid_request: 'The GPU server refused these settings.',
  unsupported: 'These settings are not available on the GPU servers.',
  model_missing: 'The model is not available on the GPU servers.',
  canceled: 'The generation was canceled.',
}

export const failure = (kind: BackendErrorKind, message: string, cause?: unknown) =>
  new BackendError(kind, message, PUBLIC[kind], cause === undefined ? undefined : { cause })

/** Makes the error for a bad reply. */
export type Bad = (what: string) => Error

export function badOutput(server: string): Bad {
  return (what) => failure('bad_output', `${server} ${what}`)
}

/** @param told for the subscriber: what no GPU server has */
export const unsupported = (server: string, why: string, told: string) =>
  new BackendError('unsupported', `${server} ${why}`, told)

export const samplerUnavailable = (server: string, sampler: Sampler) =>
  unsupported(server, `has no sampler for ${sampler}`, `The sampler "${sampler}" is not available on the GPU servers.`)

/** The error of a call of the port: `canceled` if we canceled it; anything but a BackendError is our own fault. */
export const callFailure = (server: string, signal: AbortSignal, error: unknown): BackendError => {
  if (signal.aborted) return failure('canceled', `${server}: canceled by us`)
  return error instanceof BackendError ? error : failure('backend_fault', `${server}: ${reasonOf(error)}`, error)
}

/** The error of a call without an HTTP answer. One that was cut off after it was sent is `lost`: it may still run. */
export function networkFailure(server: string, error: unknown): BackendError {
  const codes = codesOf(error)
  const said = codes[0] ?? reasonOf(error)
  if (codes.includes('UND_ERR_RES_EXCEEDED_MAX_SIZE'))
    return failure('bad_output', `${server} sent a reply beyond the limit`, error)
  if (codes.includes('UND_ERR_DESTROYED'))
    return failure('canceled', `${server}: the connection was closed by us`, error)
  // The first that many people write.
  const here = codes.includes('ECONNREFUSED') && /\/\/(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1\])([:/]|$)/.test(server)
  const hint = here ? ' (in a container this address is the container itself: write host.docker.internal)' : ''
  if (isUnreached(error) || isTlsFailure(error))
    return failure('unavailable', `${server} cannot be reached: ${said}${hint}`, error)
  return failure('lost', `${server} dropped the connection: ${said}`, error)
}
