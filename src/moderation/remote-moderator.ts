import { z } from 'zod'
import { moderationUnavailable } from '../errors.js'
import type { Moderator, Verdict } from '../generation/submit/submission.js'
import type { Log } from '../log.js'

export interface RemoteModerator extends Moderator {
  /** Whether it gave no usable answer when it was last asked. */
  isSilent(): boolean
}

export interface RemoteModeratorOptions {
  /** The endpoint itself, like https://api.openai.com/v1/moderations. */
  readonly url: string
  readonly apiKey?: string | undefined
  /** The endpoint's default when absent. */
  readonly model?: string | undefined
  readonly deadlineMs?: number
  readonly logger?: Pick<Log, 'info' | 'error'> | undefined
}

const DEADLINE_MS = 1500
const MOST_ANSWER_BYTES = 256 * 1024

const answer = z.object({
  results: z
    .array(z.object({ flagged: z.boolean(), categories: z.record(z.string(), z.boolean().nullish()).default({}) }))
    .min(1),
})

/** The protocol's categories; a subscriber is told no name that an endpoint made up. */
const KNOWN_CATEGORIES = new Set([
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent', 'self-harm'],
  ...['self-harm/intent', 'self-harm/instructions', 'sexual', 'sexual/minors', 'violence', 'violence/graphic'],
])
const OTHER_CATEGORY = 'disallowed content'

// The protocol's name for sexual content with adults, which models marked as NSFW are for.
const ADULT_CATEGORY = 'sexual'

/**
 * Asks a moderation endpoint of OpenAI's protocol: POST {input, model?}, answered by results[0].{flagged, categories}.
 * Only the prompt is sent: what a negative prompt names is to be avoided. When no usable answer comes in time, models
 * marked as NSFW are refused and others pass, since the built-in rules have seen the prompt already.
 */
export function createRemoteModerator(options: RemoteModeratorOptions): RemoteModerator {
  let silent = false
  return {
    isSilent: () => silent,
    async review({ prompt, nsfwModel }) {
      try {
        const verdict = verdictOf(answer.parse(await ask(options, prompt)), nsfwModel)
        if (silent) options.logger?.info({}, 'the moderation endpoint answers again')
        silent = false
        return verdict
      } catch (error) {
        // Once an outage: at a request each it would fill the log.
        if (!silent) options.logger?.error({ reason: reasonOf(error) }, 'the moderation endpoint gives no answer')
        silent = true
        if (nsfwModel) throw moderationUnavailable()
        return { flagged: false }
      }
    },
  }
}

async function ask({ url, apiKey, model, deadlineMs }: RemoteModeratorOptions, prompt: string): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify({ input: prompt, ...(model && { model }) }),
    // A redirect could carry the prompt to a host the operator never named.
    redirect: 'error',
    signal: AbortSignal.timeout(deadlineMs ?? DEADLINE_MS),
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`it answered ${response.status}`)
  }
  return JSON.parse(await readLimited(response))
}

/** The body as text; an endless one is cut off rather than kept. */
async function readLimited({ body }: Response): Promise<string> {
  if (!body) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Node's streams can be iterated; the DOM's types do not say so.
  for await (const chunk of body as ReadableStream & AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > MOST_ANSWER_BYTES) throw new Error('its answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function verdictOf({ results }: z.infer<typeof answer>, nsfwModel: boolean): Verdict {
  // One input has one result; were there more, any flag counts.
  const flagged = results.filter((result) => result.flagged)
  const names = flagged.flatMap(({ categories }) => Object.keys(categories).filter((name) => categories[name]))
  const isAdult = names.length > 0 && names.every((name) => name === ADULT_CATEGORY)
  if (flagged.length === 0 || (nsfwModel && isAdult)) return { flagged: false }
  const told = new Set(names.map((name) => (KNOWN_CATEGORIES.has(name) ? name : OTHER_CATEGORY)))
  return { flagged: true, parameter: 'prompt', category: [...told].join(', ') || OTHER_CATEGORY, matched: [] }
}

/** Why there was no answer, without anything of what was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError || error instanceof SyntaxError) return 'its answer is not of the protocol'
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return 'it took too long'
  return error.cause instanceof Error ? error.cause.message : error.message
}
