import type { InferenceBackend, InferenceRequest, InferredImage } from '../../generation/run/backend.js'
import { callFailure, failure, samplerUnavailable } from '../backend-failure.js'
import { requireKept } from '../kept-parameters.js'
import { limited, probe, risingProgress } from '../limited.js'
import { createServerHttp, parseServerUrl, type ServerAddress } from '../server-http.js'
import { DEFAULT_PATH, readDeclaration } from './declaration.js'
import { filenamesOf, listModels } from './models.js'
import { generationBody, readGeneration } from './openai-generation.js'

interface OpenAiOptions {
  /** One `generate`, from its first request to its last byte. */
  readonly timeoutMs: number
}

/**
 * A server with OpenAI's image API: LocalAI, vLLM-Omni, SGLang and others. `url` is
 * `openai+http(s)://[:KEY@]host[:port][/v1]?sampler=…`: the key is sent as a bearer token, `user:password@` as Basic auth.
 *
 * The API has no field for a sampler and echoes no seed, so the operator vouches for the server: `sampler` (repeatable) is
 * what it draws with, and a server that ignores `seed` must not be attached. `model` (repeatable) picks from what it lists;
 * `max_seed` is the largest seed it keeps, `size_multiple` 8, 16 or 64; vLLM-Omni needs `max_cfg_scale=20`. LocalAI needs
 * `negative=pipe`: it takes what follows a `|` in the prompt for the negative one. Whatever else a server does not read, it
 * ignores: LocalAI takes the guidance from its own configuration.
 *
 * Each image is a call of its own, with its own seed. There is no progress within a call, and all that can be done to stop
 * one is to hang up.
 */
export function createOpenAiBackend(url: string, { timeoutMs }: OpenAiOptions): InferenceBackend {
  const address = parseServerUrl(url)
  const { samplers, models: declared, maxSeed, sizeMultiple, maxCfgScale, negative } = readDeclaration(address.query)
  const http = createServerHttp({ ...address, base: baseOf(address) })
  const ask = (signal: AbortSignal) => probe({ http, signal, timeoutMs }, (stop) => listModels(http, declared, stop))

  async function requireModel({ model: filename }: InferenceRequest, stop: AbortSignal): Promise<string> {
    const models = await ask(stop)
    if (models.includes(filename)) return filename
    const model = models.find((id) => filenamesOf(id).includes(filename))
    if (model === undefined) throw failure('model_missing', `${http.name} does not list "${filename}"`)
    return model
  }

  async function draw(
    request: InferenceRequest,
    stop: AbortSignal,
    report: (done: number) => void,
    drawn: (() => void) | undefined,
  ) {
    const { sampler, seeds } = request
    if (!samplers.includes(sampler)) throw samplerUnavailable(http.name, sampler)
    requireKept({ name: http.name, maxSeed, sizeMultiple, maxCfgScale }, request)
    const model = await requireModel(request, stop)
    const images: InferredImage[] = []
    for (const seed of seeds) {
      const body = generationBody(request, model, seed, negative)
      const isLast = images.length + 1 === seeds.length
      const reply = await http.post('/images/generations', body, stop, (status) => {
        if (isLast && status === 200) drawn?.()
      })
      images.push(await readGeneration(http.name, reply, request, body))
      report(images.length / seeds.length)
    }
    return images
  }

  return {
    name: http.name,

    async capabilities(signal) {
      try {
        const models = await ask(signal)
        return { models: models.flatMap(filenamesOf), samplers, maxSeed, sizeMultiple, maxCfgScale }
      } catch (error) {
        throw callFailure(http.name, signal, error)
      }
    },

    generate: (request, { signal, onProgress, onDrawn }) =>
      limited({ name: http.name, signal, timeoutMs }, (stop) =>
        draw(request, stop, risingProgress(onProgress), onDrawn),
      ),

    close: () => http.close(),
  }
}

const baseOf = ({ base }: ServerAddress) => (new URL(base).pathname === '/' ? base + DEFAULT_PATH : base)
