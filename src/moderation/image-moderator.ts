import type { CheckImage } from '../core/generations/run/publish.js'
import type { ViewableImage } from '../core/images/ports.js'
import { type EndpointOptions, moderationEndpoint } from './moderation-endpoint.js'

interface ImageModerator {
  readonly check: CheckImage
  /** Whether it gave no usable answer when it was last asked. */
  isSilent(): boolean
}

interface ImageModeratorOptions extends Omit<EndpointOptions, 'deadlineMs'> {
  readonly deadlineMs?: number | undefined
  /** Images pass while the endpoint gives no usable answer. */
  readonly failsOpen: boolean
  /** Whether the model version is marked as NSFW: then sexual content with adults is allowed. */
  readonly isNsfw: (modelVersionId: number) => Promise<boolean>
  /** The PNG, or a smaller image of at most this size. */
  readonly scaleForModel: (png: Buffer, maxBytes: number) => Promise<ViewableImage | undefined>
}

const DEADLINE_MS = 10_000
/** Endpoints scale images down themselves, and refuse large ones. */
const MOST_BYTES = 1024 * 1024
/** The first of OpenAI's that looks at images. */
const MODEL = 'omni-moderation-latest'

/** Asks a moderation endpoint about a finished image, which is sent as a data URI; a large one is scaled down. */
export function createImageModerator(options: ImageModeratorOptions): ImageModerator {
  const { model = MODEL, deadlineMs = DEADLINE_MS, isNsfw, scaleForModel: forViewing, failsOpen } = options
  const endpoint = moderationEndpoint({ ...options, model, deadlineMs })
  return {
    isSilent: endpoint.isSilent,
    async check(png, { modelVersionId }, signal) {
      const flags = async () => {
        const [viewable, nsfwModel] = await Promise.all([forViewing(png, MOST_BYTES), isNsfw(modelVersionId)])
        if (!viewable) throw new Error('the image is too large to be sent to the moderation endpoint')
        const { bytes, mimeType } = viewable
        const url = `data:${mimeType};base64,${bytes.toString('base64')}`
        return endpoint.flagsOf([{ type: 'image_url', image_url: { url } }], nsfwModel, signal)
      }
      return failsOpen ? flags().catch(() => []) : flags()
    },
  }
}
