import {
  modelListing,
  type StandInDialect,
  type StandInModel,
  samplerListing,
  scheduleListing,
  stem,
} from './dialects.js'
import type { Gpu, Reply } from './gpu.js'
import type { StandInFiles } from './settings.js'

const NOT_FOUND: Reply = { status: 404, body: { detail: 'Not Found' } }

const toModule = (file: string) => ({ model_name: file, filename: `/srv/vae/${file}` })

interface Asked {
  readonly dialect: StandInDialect
  readonly models: StandInModel[]
  /** On its disk, and not listed yet. */
  readonly added: StandInModel[]
  readonly files: StandInFiles
  readonly gpu: Gpu
  /** Whether the progress is asked for with the image. */
  readonly showsImage: boolean
}

/** Everything but txt2img. */
export function answer(
  route: string,
  body: Record<string, unknown> | undefined,
  { dialect, models, added, files, gpu, showsImage }: Asked,
): Reply {
  const ok = (reply: unknown): Reply => ({ status: 200, body: reply })
  const schedules = scheduleListing(dialect)
  switch (route) {
    case 'GET /sdapi/v1/sd-models':
      return ok((dialect === 'sdcpp' ? models.slice(0, 1) : models).map((model) => modelListing(dialect, model)))
    case 'GET /sdapi/v1/samplers':
      return ok(samplerListing(dialect))
    case 'GET /sdapi/v1/schedulers':
      return schedules ? ok(schedules) : NOT_FOUND
    case 'GET /sdapi/v1/options':
      return ok(gpu.options())
  }
  if (dialect === 'sdcpp') return NOT_FOUND
  if (files.broken.some((listing) => route.endsWith(`/${listing}`)))
    return { status: 500, body: 'Internal Server Error' }
  switch (route) {
    case 'GET /sdapi/v1/sd-modules':
      return dialect === 'forge' ? ok(files.modules.map(toModule)) : NOT_FOUND
    case 'GET /sdapi/v1/sd-vae':
      return dialect === 'forge' ? NOT_FOUND : ok(files.vae.map(toModule))
    case 'GET /sdapi/v1/loras':
      return ok(
        files.lora.map((file) => ({ name: stem(file), alias: stem(file), path: `/srv/lora/${file}`, metadata: {} })),
      )
    case 'GET /sdapi/v1/upscalers':
      return ok(['None', 'Lanczos', ...files.upscaler].map((name) => ({ name, model_name: null, scale: 4 })))
    case 'GET /sdapi/v1/latent-upscale-modes':
      return dialect === 'sdnext' ? NOT_FOUND : ok([{ name: 'Latent' }, { name: 'Latent (bicubic)' }])
    case 'POST /sdapi/v1/options':
      gpu.setOptions(body ?? {})
      return ok(null)
    case 'POST /sdapi/v1/refresh-checkpoints':
      models.push(...added.splice(0))
      return ok(null)
    case 'GET /sdapi/v1/progress':
      return ok(gpu.progress(showsImage))
    case 'POST /sdapi/v1/interrupt':
      gpu.interrupt()
      return dialect === 'sdnext' ? { status: 204, body: undefined } : ok({})
    default:
      return NOT_FOUND
  }
}
