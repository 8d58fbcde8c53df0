import { z } from 'zod'
import type { Submitted } from '../../generation/submit.js'
import { type CreateImageBody, createImageModel } from './schemas.js'

export const createdImage = z
  .object({
    success: z.literal(true),
    data: z.object({
      image_id: z.string().describe('The slug: {base_url}/image/<image_id> shows the picture'),
      url: z.string().describe('Permanent and public'),
      status: z.literal('completed'),
      parameters: z.object({
        prompt: z.string(),
        model: createImageModel,
        steps: z.int(),
        cfg_scale: z.number(),
        width: z.int(),
        height: z.int(),
        seed: z.int().min(0).describe('The seed used'),
      }),
      created_at: z.iso.datetime(),
    }),
  })
  .meta({
    id: 'CreatedImage',
    examples: [
      {
        success: true,
        data: {
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
        },
      },
    ],
  })

/** The body of spec 4.6. */
export const createdView = (
  { seed, createdAt }: Submitted,
  slug: string,
  url: string,
  { model, request }: CreateImageBody,
): z.output<typeof createdImage> => ({
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
