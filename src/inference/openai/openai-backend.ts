import { z } from 'zod'
import type { InferenceBackend } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import { type Limits, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl, type ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'
import { DEFAULT_PATH, readDeclaration } from './declaration.js'
import { infer } from './image-generation.js'

/**
 * A server with OpenAI's image API: LocalAI, vLLM-Omni, SGLang and others. The API has no field for a sampler and echoes
 * no seed, so the operator vouches for the server: in the URL's query, and by not attaching one that ignores `seed`. A
 * server ignores the fields that it does not know: LocalAI takes the guidance from its own configuration. Each image is
 * a call of its own. A call reports no progress, and can only be stopped by closing its connection.
 */
export function createOpenAiBackend(url: string, limits: Limits): InferenceBackend {
  const address = parseServerUrl(url)
  const { samplers, models: declared, isPiped, ...bounds } = readDeclaration(address.query)
  const { base } = address
  const http = createServerHttp({ ...address, base: new URL(base).pathname === '/' ? base + DEFAULT_PATH : base })
  return serverBackend({
    http,
    limits,
    discover: async (signal) => ({ samplers, models: await listModels(http, declared, signal) }),
    offers: ({ models }) => ({ models: models.flatMap(filenamesOf), ...bounds }),
    modelOf: ({ models }, filename) =>
      models.includes(filename) ? filename : models.find((model) => filenamesOf(model).includes(filename)),
    runsOf: (seeds) => seeds.map((seed) => [seed]),
    infer: (asked, call) => infer(http, asked, call, isPiped),
  })
}

/** What the catalog may append to a model's name to make it a file name. */
const EXTENSIONS = ['.safetensors', '.gguf', '.ckpt', '.sft', '.pt', '.pth', '.bin']

/** The file names under which the catalog may have a model. */
const filenamesOf = (model: string): string[] => [model, ...EXTENSIONS.map((extension) => model + extension)]

/** The name that stable-diffusion.cpp's sd-server gives to whatever it has loaded. */
const SD_CPP_MODEL = 'sd-cpp-local'

const modelsReply = z.object({ data: z.array(z.object({ id: z.string().min(1) })) })

/** The declared models that the server lists, or all, by its names; also the health probe. @throws BackendError */
async function listModels(http: ServerHttp, declared: readonly string[], signal: AbortSignal) {
  const reply = await http.get('/models', signal)
  // Without a listing the declared models count.
  if (reply.status === 404 && declared.length > 0) return declared
  const listed = jsonReply(http.name, reply, modelsReply).data.map(({ id }) => id)
  if (listed.length > 0 && listed.every((id) => id === SD_CPP_MODEL))
    throw failure(
      'unusable',
      `${http.name} is stable-diffusion.cpp, which keeps no seed in this API: use its own, sdcpp+http://…`,
    )
  return declared.length > 0 ? declared.filter((id) => listed.includes(id)) : listed
}
