import { modelListing, type StandInDialect, type StandInModel, samplerListing, scheduleListing } from './dialects.js'
import type { Gpu, Reply } from './gpu.js'

const NOT_FOUND: Reply = { status: 404, body: { detail: 'Not Found' } }

interface Asked {
  readonly dialect: StandInDialect
  readonly models: StandInModel[]
  /** On its disk, and not listed yet. */
  readonly added: StandInModel[]
  readonly gpu: Gpu
  /** Whether the progress is asked for with the image. */
  readonly showsImage: boolean
}

/** Everything but txt2img. */
export function answer(
  route: string,
  body: Record<string, unknown> | undefined,
  { dialect, models, added, gpu, showsImage }: Asked,
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
      return ok({ samples_format: 'png', sd_model_checkpoint: gpu.loaded() })
  }
  if (dialect === 'sdcpp') return NOT_FOUND
  switch (route) {
    case 'POST /sdapi/v1/options':
      gpu.load(body?.sd_model_checkpoint)
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
