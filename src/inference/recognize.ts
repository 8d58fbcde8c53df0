import { createServerHttp, type HttpReply, type ServerAddress } from './server-http.js'
import { replyFailure } from './server-reply.js'

/** What only that kind of server answers; sd-server, which speaks the others' APIs too, comes first. */
const MARKS = [
  { kind: 'sdcpp', software: 'stable-diffusion.cpp', path: '/sdcpp/v1/capabilities' },
  { kind: 'comfyui', software: 'ComfyUI', path: '/object_info/KSampler' },
  { kind: 'a1111', software: "a server with AUTOMATIC1111's API", path: '/sdapi/v1/sd-models' },
  { kind: 'openai', software: "a server with OpenAI's image API", path: '/v1/models' },
] as const

interface Recognized {
  readonly kind: string
  readonly software: string
  /** As an entry of INFERENCE_URL, without credentials and options: `comfyui+http://gpu1:8188`. */
  readonly entry: string
}

/**
 * Finds out what kind of server answers at an address.
 * @returns undefined where it is none that we know
 * @throws BackendError when it can't be reached or wants a password; the signal's reason when it aborted
 */
export async function recognize(address: ServerAddress, signal: AbortSignal): Promise<Recognized | undefined> {
  const base = address.base.replace(/\/v1$/, '')
  const http = createServerHttp({ ...address, base })
  try {
    const replies = await Promise.all(MARKS.map(({ path }) => http.get(path, signal)))
    const mark = MARKS.find((_, n) => isJson(replies[n]))
    if (mark) return { kind: mark.kind, software: mark.software, entry: `${mark.kind}+${base}` }
    const shut = replies.find(({ status }) => status === 401 || status === 403)
    if (shut) throw replyFailure(address.name, shut.status, '')
    return undefined
  } finally {
    await http.close()
  }
}

/** A 200 of HTML is some other web server's. */
function isJson(reply: HttpReply | undefined): boolean {
  if (reply?.status !== 200) return false
  try {
    return typeof JSON.parse(reply.text) === 'object'
  } catch {
    return false
  }
}
