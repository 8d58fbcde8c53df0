/**
 * A client of Easel's API: every endpoint, typed from its OpenAPI description, and `generate`, which does everything to
 * get an image. Runs on Node 20 and newer. Not for web pages: their visitors would see the key, and browsers allow
 * requests from the server's own origin only. Let a page ask a server of yours, which has the key.
 */
import createFetchClient, { type Client } from 'openapi-fetch'
import type { paths } from './api.js'
import { type Generated, type GenerateOptions, generate, type Prompt } from './generate.js'

export type { components, operations, paths } from './api.js'
export { EaselError } from './easel-error.js'
export type { Progress } from './follow-generation.js'
export type { Generated, GeneratedImage, GenerateOptions, Prompt } from './generate.js'

export interface EaselOptions {
  /** The server's public address, such as `https://easel.example`. */
  readonly baseUrl: string
  /** A personal API key. Undefined, as an environment variable that is not set, is refused. */
  readonly apiKey: string | undefined
  /** Instead of the global one; it has to heed the request's signal. */
  readonly fetch?: (request: Request) => Promise<Response>
}

export interface Easel {
  /** Each endpoint by its path: `api.GET('/api/v1/account')` resolves to `{ data, error, response }`. */
  readonly api: Client<paths>
  /**
   * Submits a generation, waits for its end and resolves to its images. It is charged once, however often requests
   * have to be repeated on the way, and is canceled (and given back) when `signal` aborts.
   * @throws EaselError with a `code`; the signal's reason once it has aborted
   */
  generate(prompt: Prompt, options?: GenerateOptions): Promise<Generated>
}

/** Connects to nothing yet. @throws TypeError for an address or a key that no request could be made with */
export function createEasel({ baseUrl, apiKey, fetch }: EaselOptions): Easel {
  if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl))
    throw new TypeError("baseUrl must be the server's address, beginning with http:// or https://.")
  // An environment variable that is not set is the likeliest mistake.
  if (typeof apiKey !== 'string' || !/^\s*[\x21-\x7e]+\s*$/.test(apiKey))
    throw new TypeError('apiKey must be a personal API key: one word that begins with "easel_".')
  const api = createFetchClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    headers: { authorization: `Bearer ${apiKey.trim()}` },
    ...(fetch && { fetch }),
  })
  return { api, generate: (prompt, options = {}) => generate(api, prompt, options) }
}
