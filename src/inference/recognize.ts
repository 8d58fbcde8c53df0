import { z } from 'zod'
import { BackendError, type BackendErrorKind } from '../core/generations/run/backend.js'
import { timeLimit, type Work } from '../lib/abort-signals.js'
import { failure } from './backend-failure.js'
import { createServerHttp, type ServerAddress, type ServerHttp } from './server-http.js'
import { parsedJson, replyFailure } from './server-reply.js'

const listing = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])

/** KoboldCpp imitates a part of each of the other APIs: too little to follow, to stop or to check what it draws. */
const KOBOLD = 'KoboldCpp, which Easel cannot use: serve the model with ComfyUI or with stable-diffusion.cpp instead'

/** A path that only this kind of server answers; those that have the others' APIs too come first. */
const MARKS = [
  { kind: undefined, software: KOBOLD, path: '/api/extra/version', form: z.object({ result: z.literal('KoboldCpp') }) },
  { kind: 'sdcpp', software: 'stable-diffusion.cpp', path: '/sdcpp/v1/capabilities' },
  { kind: 'comfyui', software: 'ComfyUI', path: '/object_info/KSampler' },
  { kind: 'a1111', software: "a server with AUTOMATIC1111's API", path: '/sdapi/v1/sd-models' },
  { kind: 'openai', software: "a server with OpenAI's image API", path: '/v1/models' },
]

/**
 * Finds out what kind of server answers at an address; undefined where it is none that we know. `entry` is for
 * INFERENCE_URL, without credentials and options; it and `kind` are undefined for one that Easel cannot use.
 * @throws BackendError when it can't be reached or wants a password; the signal's reason when it aborted
 */
export async function recognize(address: ServerAddress, signal: AbortSignal) {
  const base = address.base.replace(/\/v1$/, '')
  const http = createServerHttp({ ...address, base })
  try {
    const replies = await Promise.all(MARKS.map(({ path }) => http.get(path, signal)))
    // A 200 with HTML is from another kind of web server.
    const mark = MARKS.find(({ form = listing }, n) => replies[n]?.status === 200 && parsedJson(replies[n].text, form))
    if (mark) return { ...mark, entry: mark.kind && `${mark.kind}+${base}` }
    const unauthorized = replies.find(({ status }) => status === 401 || status === 403)
    const elsewhere = replies.find(({ status }) => status >= 300 && status < 400)
    const refused = unauthorized ?? elsewhere
    if (refused) throw replyFailure(address.name, refused.status)
    return undefined
  } finally {
    await http.close()
  }
}

const PROBE_TIMEOUT_MS = 10_000
/** The server answers, but not like its kind. */
const NOT_OF_KIND: readonly BackendErrorKind[] = ['unusable', 'bad_output', 'invalid_request']

/**
 * Runs a discovery within 10 s, or `timeoutMs` if that is less. If the server does not answer like its kind, the error
 * names its actual kind, if known.
 * @throws BackendError `unavailable`, `auth` or `unusable` and nothing else; the signal's reason when it aborted
 */
export async function probe<T>(http: ServerHttp, timeoutMs: number, signal: AbortSignal, ask: Work<T>): Promise<T> {
  const limit = timeLimit(signal, Math.min(timeoutMs, PROBE_TIMEOUT_MS))
  try {
    return await ask(limit.signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof BackendError)) throw failure('unavailable', `${http.name} did not answer in time`, error)
    if (error.kind === 'auth') throw error
    if (!NOT_OF_KIND.includes(error.kind)) throw failure('unavailable', error.message, error)
    const found = await recognize(http.address, limit.signal).catch(() => undefined)
    const isOther = found !== undefined && !http.name.startsWith(`${found.kind}+`)
    const instead = found?.entry ? `: write ${found.entry}` : ''
    const message = isOther ? `${http.name} is ${found.software}${instead}` : error.message
    throw failure('unusable', message, error)
  } finally {
    limit.clear()
  }
}
