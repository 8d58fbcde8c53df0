import { z } from 'zod'
import { failure } from '../backend-failure.js'
import type { ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'

/** What the catalog may put behind a model's name to make a file name of it. */
const EXTENSIONS = ['.safetensors', '.gguf', '.ckpt', '.sft', '.pt', '.pth', '.bin']

/** The name that stable-diffusion.cpp's sd-server gives to whatever it has loaded. */
const SD_CPP_MODEL = 'sd-cpp-local'

const modelsReply = z.object({ data: z.array(z.object({ id: z.string().min(1) })) })

/**
 * The models to use, by the server's own names: those it lists, or of them the declared ones. Also the health probe.
 * @throws BackendError
 */
export async function listModels(
  http: ServerHttp,
  declared: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const reply = await http.get('/models', signal)
  // Some have no listing; then the operator's word must do.
  if (reply.status === 404 && declared.length > 0) return declared
  const listed = jsonReply(http.name, reply, { shape: modelsReply }).data.map(({ id }) => id)
  if (listed.length > 0 && listed.every((id) => id === SD_CPP_MODEL))
    throw failure(
      'unusable',
      `${http.name} is stable-diffusion.cpp, which keeps no seed in this API: use its own, sdcpp+http://…`,
    )
  return declared.length > 0 ? declared.filter((id) => listed.includes(id)) : listed
}

/** The file names under which the catalog may have a model. */
export const filenamesOf = (model: string): string[] => [model, ...EXTENSIONS.map((extension) => model + extension)]
