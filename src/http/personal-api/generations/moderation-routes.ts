import { z } from 'zod'
import { requireAvailable } from '../../../core/catalog/model-version.js'
import { checkPrompt } from '../../../core/generations/submit/check-prompt.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import * as drawing from '../../shared/generation-fields.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { viewOf } from '../../shared/responses.js'
import { modelVersionId } from './submit-schemas.js'

const moderation = z
  .object({
    flagged: z.boolean().describe('Whether a submit would be refused'),
    parameter: z.enum(['prompt', 'negative_prompt']).nullable().describe('The field it is about'),
    category: z.string().nullable(),
    matched: z.array(z.string()).describe('The words that were recognised, as far as they are known'),
  })
  .meta({ id: 'Moderation', examples: [{ flagged: false, parameter: null, category: null, matched: [] }] })

const moderatePromptSchema = {
  operationId: 'moderatePrompt',
  tags: ['Generations'],
  summary: 'Check a prompt',
  description:
    'Says what moderation would say to a submit with this prompt. Costs nothing; 30 checks a minute, dry runs included. ' +
    'Of sexual content with minors it says only that the prompt is refused.',
  body: field.body({
    ...drawing.fields,
    model_version_id: modelVersionId.nullish().describe('Without one, as for a model that is not marked as NSFW'),
  }),
  response: { 200: moderation, ...personalRefusals(400, 404, 413, 415) },
}

/** Checks a prompt without submitting it: free. */
export function moderationRoutes(app: App, ports: PersonalApiPorts): void {
  app.post('/moderate', { schema: moderatePromptSchema }, async ({ body, caller }) => {
    const { prompt, negative_prompt: negativePrompt = '', model_version_id: id } = body
    const model = typeof id === 'number' ? requireAvailable(await ports.models.find(id), id) : undefined
    const asked = { prompt, negativePrompt, nsfwModel: model?.nsfw ?? false }
    return viewOf(moderation, await checkPrompt(ports, caller.account.id, asked))
  })
}
