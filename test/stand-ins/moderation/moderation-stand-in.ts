import { runAsProgram } from '../program.js'
import {
  authorizationFor,
  type StandInReply,
  type StandInRequest,
  type StandInServer,
  startStandInServer,
  type WireFault,
} from '../stand-in-server.js'

interface ModerationSettings {
  fault: WireFault
  /** The categories that it flags, of every input… */
  flags: readonly string[]
  /** …from this one on; 1 is the first after the settings were changed. */
  from: number
  /** Some endpoints of the protocol answer with the categories only. */
  withoutFlagged: boolean
}

export interface ModerationStandIn extends StandInServer {
  readonly endpoint: string
  /** The images it was asked about, as their bytes. */
  readonly images: () => readonly Buffer[]
  readonly set: (settings: Partial<ModerationSettings>) => void
  readonly close: () => Promise<void>
}

const CATEGORIES = ['sexual', 'sexual/minors', 'violence', 'violence/graphic', 'self-harm', 'hate', 'harassment']
const DATA_URI = /^data:image\/(?:png|jpeg|webp);base64,([A-Za-z0-9+/]+=*)$/
const MOST_BYTES = 20 * 1024 * 1024

/**
 * A server that speaks OpenAI's moderation API as omni-moderation does: it takes a text, or parts of `text` and at most
 * one `image_url`, and refuses other forms with 400.
 */
export async function startModerationStandIn(
  options: { port?: number; auth?: string } = {},
): Promise<ModerationStandIn> {
  const { auth, port } = options
  const settings: ModerationSettings = { fault: 'none', flags: [], from: 1, withoutFlagged: false }
  const images: Buffer[] = []
  let inputs = 0
  const set = (changes: Partial<ModerationSettings>) => {
    inputs = 0
    Object.assign(settings, changes)
  }

  function answer({ method, path, body }: StandInRequest): StandInReply {
    if (`${method} ${path}` !== 'POST /v1/moderations')
      return { status: 404, body: { error: { message: 'Not Found' } } }
    const image = imageIn(body?.input)
    if (image === undefined) return { status: 400, body: { error: { message: "Invalid value for 'input'." } } }
    if (image) images.push(image)
    const flags = ++inputs >= settings.from ? settings.flags : []
    const names = [...new Set([...CATEGORIES, ...flags])]
    const categories = Object.fromEntries(names.map((name) => [name, flags.includes(name)]))
    const scores = Object.fromEntries(names.map((name) => [name, flags.includes(name) ? 0.97 : 0.0001]))
    const applied = Object.fromEntries(names.map((name) => [name, image ? ['image'] : ['text']]))
    const result = { categories, category_scores: scores, category_applied_input_types: applied }
    const flagged = settings.withoutFlagged ? {} : { flagged: flags.length > 0 }
    const model = body?.model ?? 'omni-moderation-latest'
    return { status: 200, body: { id: `modr-${inputs}`, model, results: [{ ...flagged, ...result }] } }
  }

  const server = await startStandInServer({
    ...(port !== undefined && { port }),
    authorization: auth && authorizationFor(auth),
    unauthorized: { status: 401, body: { error: { message: 'Incorrect API key provided.' } } },
    faultOf: () => settings.fault,
    answer,
    set: set as (changes: Record<string, unknown>) => void,
  })
  return { ...server, endpoint: `${server.url}/v1/moderations`, images: () => images, set, close: server.refuse }
}

/** The image among the parts; null for text alone, undefined for another form. */
function imageIn(input: unknown): Buffer | null | undefined {
  if (typeof input === 'string') return null
  if (!Array.isArray(input) || input.length === 0) return undefined
  const [first, ...others] = input as { type?: unknown; image_url?: { url?: unknown } }[]
  if (others.length > 0 || first?.type !== 'image_url') return undefined
  const [, base64] = DATA_URI.exec(String(first.image_url?.url)) ?? []
  const bytes = base64 ? Buffer.from(base64, 'base64') : undefined
  return bytes && bytes.length <= MOST_BYTES ? bytes : undefined
}

await runAsProgram(import.meta.url, startModerationStandIn)
