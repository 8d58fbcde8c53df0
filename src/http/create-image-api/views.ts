import type { Submitted } from '../../generation/submit.js'
import type { CreateImageBody } from './schemas.js'

/** The body of spec 4.6. */
export const createdView = (
  { seed, createdAt }: Submitted,
  slug: string,
  url: string,
  { model, request }: CreateImageBody,
) => ({
  success: true,
  data: {
    image_id: slug,
    url,
    status: 'completed',
    parameters: {
      prompt: request.prompt,
      model,
      steps: request.steps,
      cfg_scale: request.cfgScale,
      width: request.width,
      height: request.height,
      seed,
    },
    created_at: createdAt.toISOString(),
  },
})
