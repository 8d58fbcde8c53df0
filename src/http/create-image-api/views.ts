import { z } from 'zod'
import type { GenerationRequest } from '../../generation/generation.js'
import type { Submitted } from '../../generation/submit/submission.js'
import { type CreateImageBody, createImageModel } from './schemas.js'

const parameters = z.object({
  prompt: z.string(),
  model: createImageModel,
  steps: z.int(),
  cfg_scale: z.number(),
  width: z.int(),
  height: z.int(),
  seed: z.int().min(0).describe('The seed used'),
})

const EXAMPLE = {
  image_id: 'Zk3vQ9xT1bN7mR4wY8cL2s',
  url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png',
  status: 'completed',
  parameters: {
    prompt: 'a lighthouse at dusk',
    model: 'noobai-xl',
    steps: 28,
    cfg_scale: 7,
    width: 832,
    height: 1216,
    seed: 1803774619,
  },
  created_at: '2026-11-20T21:04:11.062Z',
} as const

export const createdImage = z
  .object({
    success: z.literal(true),
    data: z.object({
      image_id: z.string().describe('The slug: {base_url}/image/<image_id> shows the picture'),
      url: z.string().describe('Permanent and public'),
      status: z.literal('completed'),
      parameters,
      created_at: z.iso.datetime(),
    }),
  })
  .meta({ id: 'CreatedImage', examples: [{ success: true, data: EXAMPLE }] })

/** What of a request its answers repeat. */
interface Asked {
  readonly model: CreateImageBody['model']
  readonly request: Pick<GenerationRequest, 'prompt' | 'steps' | 'cfgScale' | 'width' | 'height'>
}

const parametersView = ({ model, request }: Asked, seed: number) => ({
  prompt: request.prompt,
  model,
  steps: request.steps,
  cfg_scale: request.cfgScale,
  width: request.width,
  height: request.height,
  seed,
})

/** The body of spec 4.6. */
export const createdView = (
  { seed, createdAt }: Pick<Submitted, 'seed' | 'createdAt'>,
  slug: string,
  url: string,
  asked: Asked,
): z.output<typeof createdImage> => ({
  success: true,
  data: {
    image_id: slug,
    url,
    status: 'completed',
    parameters: parametersView(asked, seed),
    created_at: createdAt.toISOString(),
  },
})

export const queuedImage = z
  .object({
    success: z.literal(true),
    data: z.object({
      image_id: z.string().describe('The slug that the picture will have'),
      url: z.null().describe('Comes with the event image.completed'),
      status: z.literal('queued'),
      parameters,
      created_at: z.iso.datetime(),
    }),
  })
  .meta({
    id: 'QueuedImage',
    examples: [{ success: true, data: { ...EXAMPLE, url: null, status: 'queued' } }],
  })

/** The answer to a request that names a webhook_url, even when a replayed one's picture is there already. */
export const queuedView = ({ seed, slugs, createdAt }: Submitted, asked: Asked): z.output<typeof queuedImage> => ({
  success: true,
  data: {
    image_id: slugs[0] as string,
    url: null,
    status: 'queued',
    parameters: parametersView(asked, seed),
    created_at: createdAt.toISOString(),
  },
})
