import { z } from 'zod'
import type { DryRun } from '../../generation/submit/dry-run.js'
import { queryFlag } from '../fields.js'

export const submitQuery = z.strictObject({
  dry_run: queryFlag('dry_run').describe('Check and price the request, and do nothing'),
})

export const dryRun = z
  .object({
    dry_run: z.literal(true),
    model_version_id: z.int(),
    model_name: z.string(),
    credits_needed: z.int().min(0),
    credits_held: z.int().min(0),
    sufficient: z.boolean().describe('Whether the credits suffice'),
    active_generation: z.string().nullable().describe('The ID of the one that a submit would have to wait for'),
  })
  .meta({
    id: 'DryRun',
    examples: [
      {
        dry_run: true,
        model_version_id: 10,
        model_name: 'Pony Diffusion',
        credits_needed: 4,
        credits_held: 94,
        sufficient: true,
        active_generation: null,
      },
    ],
  })

export const dryRunView = ({
  model,
  creditsNeeded,
  creditsHeld,
  activeGenerationId,
}: DryRun): z.output<typeof dryRun> => ({
  dry_run: true,
  model_version_id: model.id,
  model_name: model.modelName,
  credits_needed: creditsNeeded,
  credits_held: creditsHeld,
  sufficient: creditsHeld >= creditsNeeded,
  active_generation: activeGenerationId ?? null,
})
