/** The image store of a worker without the bucket's key: the server signs its puts, and looks and removes itself. */
import { type ImageStore, PROBE_FILE } from '../core/images/ports.js'
import { NEVER_ABORTED, timeLimit } from '../lib/abort-signals.js'
import { fileName, publicUrls } from './any-image-store.js'
import { type FoundObject, newProbeName, type Objects, probeObjects, putImage } from './objects.js'
import type { PresignedPut } from './s3-bucket.js'
import { isTooLarge, tooLarge } from './s3-failure.js'

const CALL_MS = 15_000
const TRANSFER_MS = 60_000

interface Uploads {
  /** Of the server, without a slash at its end. */
  readonly url: string
  readonly secret: string
  readonly cdnBaseUrl: string
  readonly probeBytes?: number | undefined
}

interface Reply {
  readonly status: number
  readonly text: string
}

/** Its methods reject with a sentence for the operator, which never repeats a signed URL. */
export function imageStoreViaServer({ url, secret, cdnBaseUrl, probeBytes }: Uploads): ImageStore {
  async function send(away: string, ms: number, signal: AbortSignal, target: string, options: object): Promise<Reply> {
    const limit = timeLimit(signal, ms)
    try {
      const { request } = await import('undici')
      const { statusCode, body } = await request(target, { ...options, signal: limit.signal })
      return { status: statusCode, text: await body.text() }
    } catch (error) {
      signal.throwIfAborted()
      const { code, name } = error as NodeJS.ErrnoException
      const reason = limit.isOver() ? 'no answer in time' : (code ?? name)
      throw new Error(`${away} (${reason}): check the network of this worker and what runs there.`)
    } finally {
      limit.clear()
    }
  }

  /** Asks the server; undefined: it does not allow this (409). */
  async function ask(method: string, path: string, body?: object, signal = NEVER_ABORTED): Promise<Reply | undefined> {
    const reply = await send(
      `The server at ${url} cannot be asked for uploads`,
      CALL_MS,
      signal,
      `${url}/internal/uploads${path}`,
      {
        method,
        headers: { authorization: `Bearer ${secret}`, ...(body && { 'content-type': 'application/json' }) },
        body: body && JSON.stringify(body),
      },
    )
    if (reply.status < 300) return reply
    if (reply.status === 409) return undefined
    if (reply.status === 401)
      throw new Error(`The server at ${url} refuses this worker: give both the same UPLOAD_SECRET.`)
    if (reply.status === 404)
      throw new Error(
        `The server at ${url} takes no uploads: set UPLOAD_VIA=server there, too, and let its proxy pass /internal/uploads.`,
      )
    throw new Error(`The server at ${url} answered ${reply.status} to an upload: ${sentenceIn(reply.text)}`)
  }

  const objects: Objects = {
    async put(file, content, facts, { by, signal = NEVER_ABORTED }) {
      if (!by && !PROBE_FILE.test(file)) throw new Error('an upload through the server must name its attempt')
      const granted = await ask('POST', '', { ...by, file, ...facts }, signal)
      if (!granted) return false
      const { url: target, headers } = JSON.parse(granted.text) as PresignedPut
      const place = `The store of images at ${new URL(target).host}`
      const away = `${place} cannot be reached`
      const { status, text } = await send(away, TRANSFER_MS, signal, target, { method: 'PUT', headers, body: content })
      if (status < 300) return true
      const code = /<Code>(\w{1,50})<\/Code>/.exec(text)?.[1] ?? 'no reason'
      // Another object is there than the one to replace, or none.
      if (status === 409 || status === 412 || code === 'NoSuchKey') return false
      if (isTooLarge(status, code)) throw tooLarge(place, `${status} ${code}`, content.length)
      // It was signed a moment ago.
      if (/has expired|not valid yet|not yet valid/i.test(text))
        throw new Error(
          `${place} takes no upload that was signed by the wrong clock: correct that of the server at ${url}.`,
        )
      throw new Error(`${place} refused an upload (${status} ${code}): look into its log.`)
    },

    async head(file) {
      const { text } = (await ask('GET', `/${file}`)) as Reply
      return (JSON.parse(text) as { readonly found: FoundObject | null }).found ?? undefined
    },
  }

  const remove = async (file: string) => {
    await ask('DELETE', `/${file}`)
  }
  const probeName = newProbeName()

  return {
    put: (slug, png, options) => putImage(objects, slug, png, options),
    remove: async (slug) => remove(fileName(slug)),
    async check() {
      const reply = await ask('POST', '/check', {})
      // A server of an older release signs no probes.
      if (reply?.status === 204) return {}
      return { problem: await probeObjects({ ...objects, remove }, probeName, probeBytes) }
    },
    ...publicUrls(cdnBaseUrl),
  }
}

/** The sentence in the server's error body. */
function sentenceIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // A proxy's page.
  }
  return 'look into its log.'
}
