import { z } from 'zod'
import type { Log } from '../core/log.js'
import { NEVER_ABORTED, timeLimit } from '../lib/abort-signals.js'
import { causesOf, reasonOf } from '../lib/causes.js'
import { limitedFetch } from '../lib/limited-fetch.js'
import { USER_AGENT } from '../lib/user-agent.js'

export interface EndpointOptions {
  /** The endpoint itself, like https://api.openai.com/v1/moderations. */
  readonly url: string
  readonly apiKey?: string | undefined
  /** The endpoint's default when absent. */
  readonly model?: string | undefined
  readonly deadlineMs: number
  readonly logger?: Pick<Log, 'info' | 'error'> | undefined
}

/** What to judge, in the protocol's form: a text, or images as data URIs. */
type EndpointInput = string | readonly { readonly type: 'image_url'; readonly image_url: { readonly url: string } }[]

const fetchLimited = limitedFetch(256 * 1024)

// Some endpoints leave `flagged` out.
const answer = z.object({
  results: z
    .array(
      z
        .object({
          flagged: z.boolean().optional(),
          categories: z.record(z.string(), z.boolean().nullish()).optional(),
        })
        .refine(({ flagged, categories }) => flagged !== undefined || categories !== undefined),
    )
    .min(1),
})

/** OpenAI's categories; subscribers never see a name that an endpoint made up. */
const KNOWN_CATEGORIES = new Set([
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent', 'self-harm'],
  ...['self-harm/intent', 'self-harm/instructions', 'sexual', 'sexual/minors', 'violence', 'violence/graphic'],
])
const OTHER_CATEGORY = 'disallowed content'

// OpenAI's name for sexual content with adults, which models marked as NSFW are for.
const ADULT_CATEGORY = 'sexual'
export const MINORS_CATEGORY = 'sexual/minors'

/** The categories that an endpoint flags; empty: nothing that this model must not draw. */
type Flags = readonly string[]

/**
 * A moderation endpoint of OpenAI's protocol: POST {input, model?}, answered by results[0].{flagged, categories}. The log
 * has one error per outage, with nothing of what was sent.
 */
export function moderationEndpoint(options: EndpointOptions) {
  let silent = false
  return {
    /** Whether it gave no usable answer when it was last asked. */
    isSilent: () => silent,
    /** @throws when no usable answer comes in time, or `signal` aborts */
    async flagsOf(input: EndpointInput, nsfwModel: boolean, signal = NEVER_ABORTED): Promise<Flags> {
      const limit = timeLimit(signal, options.deadlineMs)
      try {
        const flags = flagsIn(answer.parse(await ask(options, input, limit.signal)), nsfwModel)
        if (silent) options.logger?.info({}, 'the moderation endpoint answers again')
        silent = false
        return flags
      } catch (error) {
        if (signal.aborted) throw error
        // Once per outage: once per request would fill the log.
        if (!silent) options.logger?.error({ reason: whySilent(error) }, 'the moderation endpoint gives no answer')
        silent = true
        throw error
      } finally {
        limit.clear()
      }
    },
  }
}

async function ask(
  { url, apiKey, model }: EndpointOptions,
  input: EndpointInput,
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetchLimited(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ input, ...(model && { model }) }),
    // A redirect could carry the prompt to a host the operator never named.
    redirect: 'error',
    signal,
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`it answered ${response.status}`)
  }
  return response.json()
}

function flagsIn({ results }: z.infer<typeof answer>, nsfwModel: boolean): Flags {
  const named = results.map(({ flagged, categories = {} }) => {
    const names = Object.keys(categories).filter((name) => categories[name])
    return { flagged: flagged ?? names.length > 0, names }
  })
  // One input has one result; were there more, any flag counts.
  const flagged = named.filter((result) => result.flagged)
  const names = flagged.flatMap((result) => result.names)
  const isAdultOnly = names.length > 0 && names.every((name) => name === ADULT_CATEGORY)
  if (flagged.length === 0 || (nsfwModel && isAdultOnly)) return []
  const publicNames = new Set(names.map((name) => (KNOWN_CATEGORIES.has(name) ? name : OTHER_CATEGORY)))
  return publicNames.size > 0 ? [...publicNames] : [OTHER_CATEGORY]
}

/** Why there was no answer, without anything of what was sent. */
function whySilent(error: unknown): string {
  if (error instanceof z.ZodError || error instanceof SyntaxError) return 'its answer is not of the protocol'
  return causesOf(error).some(({ name }) => name === 'TimeoutError') ? 'it took too long' : reasonOf(error)
}
