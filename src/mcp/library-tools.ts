import { z } from 'zod'
import { defaultModelFor, isAllowedModel } from '../core/accounts/account.js'
import { type ModelVersion, requireAvailable } from '../core/catalog/model-version.js'
import { lowestPrice } from '../core/catalog/price.js'
import { checkPrompt } from '../core/generations/submit/check-prompt.js'
import { capableModel, capableModelView } from '../http/personal-api/catalog/catalog-routes.js'
import { modelVersionId } from '../http/personal-api/generations/submit-schemas.js'
import { imageDetail } from '../http/personal-api/images/image-routes.js'
import * as field from '../http/shared/fields.js'
import * as drawing from '../http/shared/generation-fields.js'
import type { PersonalApiPorts } from '../http/shared/ports.js'
import { viewOf } from '../http/shared/responses.js'
import { beginningOf } from '../lib/text.js'
import { defineTool, READS, shown, type Tool } from './tool.js'

/** What is said of a model only where it differs from what most models have. */
const own = capableModel
  .pick({ defaults: true, limits: true, ignored: true, size_multiple: true, pixels: true, scale: true })
  .partial()

const described = z.object({
  id: z.int().describe('Goes into model_version_id'),
  name: z.string().describe("The version's name"),
  model_name: z.string(),
  base_model: z.string().describe('The architecture, such as "Pony" or "Illustrious"'),
  nsfw: z.boolean(),
  credits_per_image: z.int().describe('With has_formula, the least that an image costs'),
  has_formula: z.boolean().describe('The price depends on size and steps'),
  is_default: z.boolean().describe('generate_image takes it where none is named'),
})

const model = described.extend(own.shape)

const image = imageDetail.pick({
  ...{ id: true, url: true, page_url: true, prompt: true, width: true, height: true, seed: true },
  ...{ model_version_id: true, model_name: true, generation_id: true, created_at: true },
})

const subscription = z.object({ status: z.string(), plan: z.string(), end_date: z.iso.datetime() })

const account = z.object({
  username: z.string(),
  credits: z.int().describe('What the account holds now'),
  subscription: subscription.nullable().describe('Without an active one nothing is generated'),
})

const verdict = z.object({
  flagged: z.boolean().describe('Whether generate_image would refuse it'),
  parameter: z.string().nullable().describe('The field it is about'),
  category: z.string().nullable(),
  matched: z.array(z.string()).describe('The words that were recognised, as far as they are known'),
})

function ownOf(it: ModelVersion): z.output<typeof own> {
  const usual = capableModelView({ ...it, parameters: null })
  const differs = ([name, value]: [string, unknown]) =>
    name in own.shape && JSON.stringify(value) !== JSON.stringify(usual[name as keyof typeof usual])
  return Object.fromEntries(Object.entries(capableModelView(it)).filter(differs))
}

/** The same in words, each part after a semicolon. */
function ownWords({ defaults, limits, ignored, size_multiple, pixels, scale }: z.output<typeof own>): string {
  const listed = (of: object, word: (value: never) => unknown) =>
    Object.entries(of).map(([name, value]) => `${name} ${word(value as never)}`)
  const parts = [
    defaults && `its own defaults: ${listed(defaults, (value) => JSON.stringify(value)).join(', ')}`,
    limits && `limits: ${listed(limits, ({ min, max }: Record<string, number>) => `${min} to ${max}`).join(', ')}`,
    ignored && `without effect: ${ignored.join(', ')}`,
    size_multiple && `width and height are multiples of ${size_multiple}`,
    pixels && `width × height is at most ${pixels}`,
    scale && `its images are ${scale} times as wide and as high as asked for`,
  ]
  return parts.flatMap((part) => (part ? [`; ${part}`] : [])).join('')
}

const MAX_IMAGES = 50
const DEFAULT_IMAGES = 20

/** What an agent looks up: all free. @param pageUrl the website's page of an image */
export function libraryTools(ports: PersonalApiPorts, pageUrl: (slug: string) => string): Tool[] {
  const { models, gallery, images } = ports
  return [
    defineTool({
      name: 'list_models',
      title: 'List models',
      description:
        'The models that generate_image can draw with, with the price of an image in credits and what is their own: ' +
        'defaults, limits, fields without effect. Call it to choose a style, before naming a model_version_id, or ' +
        'before naming sizes or steps; generate_image has a default.',
      input: field.body({}),
      output: z.object({ models: z.array(model) }),
      annotations: READS,
      async run(_, { caller }) {
        const [all, general] = await Promise.all([models.listEnabled(), models.findDefault()])
        const enabled = all.filter(({ id }) => isAllowedModel(caller, id))
        const usual = defaultModelFor(caller, enabled, general)
        const views = enabled.map((it) => ({
          ...viewOf(described, {
            ...{ ...it, creditsPerImage: lowestPrice(it) },
            ...{ hasFormula: it.pricing !== null, isDefault: it.id === usual?.id },
          }),
          ...ownOf(it),
        }))
        const lines = views.map(
          ({ id, model_name, name, base_model, credits_per_image, has_formula, is_default, ...its }) =>
            `${id}: ${model_name} ${name} (${base_model}), ${has_formula ? 'from ' : ''}${credits(credits_per_image)} per image${is_default ? ', the default' : ''}${ownWords(its)}`,
        )
        return shown(lines.join('\n') || 'No model is on offer now.', { models: views })
      },
    }),
    defineTool({
      name: 'list_images',
      title: 'List images',
      description:
        "The account's own images, newest first, with their prompts, seeds and permanent URLs, in pages. " +
        'Call it to find an earlier image; it sends no pictures.',
      input: field.body({
        model_version_id: field
          .integer('model_version_id', { min: 1, max: Number.MAX_SAFE_INTEGER })
          .nullish()
          .describe('Only images of this model version'),
        limit: field.withDefault(
          field.integer('limit', { min: 1, max: MAX_IMAGES }).describe('How many at most'),
          DEFAULT_IMAGES,
        ),
        cursor: field.page(3).cursor,
      }),
      output: z.object({ images: z.array(image), next_cursor: field.nextCursor }),
      annotations: READS,
      async run({ limit, cursor: after, model_version_id: id }, { caller }) {
        const page = await gallery.images(caller.account.id, { modelVersionId: id ?? undefined }, { limit, after })
        const views = page.items.map((it) =>
          viewOf(image, { ...it, id: it.slug, url: images.url(it.slug), pageUrl: pageUrl(it.slug) }),
        )
        const next = field.cursorOf(page.next)
        const lines = views.map(
          ({ url, seed, model_name, prompt }) => `${url} (${model_name}, seed ${seed}): ${lineOf(prompt)}`,
        )
        const more = next === null ? [] : [`There are more: repeat with cursor "${next}".`]
        return shown([...lines, ...more].join('\n') || 'There are no images yet.', { images: views, next_cursor: next })
      },
    }),
    defineTool({
      name: 'get_account',
      title: 'Get account',
      description: 'Whose key this is, how many credits are left, and the subscription. Call it before a larger batch.',
      input: field.body({}),
      output: account,
      annotations: READS,
      async run(_input, { caller: { account: own } }) {
        const plan = own.subscription && viewOf(subscription, own.subscription)
        const view = viewOf(account, { ...own, subscription: plan })
        const ofPlan = plan ? `plan ${plan.plan}, ${plan.status}` : 'no subscription'
        return shown(`${view.username} holds ${credits(view.credits)}; ${ofPlan}.`, view)
      },
    }),
    defineTool({
      name: 'check_prompt',
      title: 'Check a prompt',
      description:
        'What moderation would say to a prompt, without generating anything: free, 30 times a minute. Call it when a prompt may be refused, or to find the words at fault.',
      input: field.body({
        ...drawing.fields,
        model_version_id: modelVersionId.nullish().describe('Without one, as for a model that is not marked as NSFW'),
      }),
      output: verdict,
      annotations: READS,
      async run({ prompt, negative_prompt: negativePrompt = '', model_version_id: id }, { caller }) {
        const chosen = typeof id === 'number' ? requireAvailable(await models.find(id), id) : undefined
        const asked = { prompt, negativePrompt, nsfwModel: chosen?.nsfw ?? false }
        const found = await checkPrompt(ports, caller.account.id, asked)
        if (!found.flagged) return shown('The prompt is fine.', viewOf(verdict, found))
        if (!found.category) return shown('The prompt would be refused.', viewOf(verdict, found))
        const words = found.matched.length > 0 ? `: ${found.matched.map((word) => `"${word}"`).join(', ')}` : ''
        return shown(
          `The ${found.parameter} would be refused (${found.category}${words}). Rephrase it.`,
          viewOf(verdict, found),
        )
      },
    }),
  ]
}

/** The data has all of it. */
const lineOf = (prompt: string) => beginningOf(prompt.replace(/\s+/g, ' '), 120)

export const credits = (count: number): string => `${count} credit${count === 1 ? '' : 's'}`
