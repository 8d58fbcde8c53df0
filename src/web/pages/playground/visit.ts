/** What the Create page begins with: an image, an idea, saved settings, or what was drawn last. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defaultModelFor, isAllowedModel } from '../../../core/accounts/account.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { PastGeneration } from '../../../core/generations/history.js'
import { SLUG } from '../../../core/images/ports.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { blankForm, type Form, formOf, formOfBody, ownId } from './form.js'
import type { Problem } from './playground-form.js'
import { applied } from './saved-settings.js'
import type { SettingsShown } from './saved-settings-routes.js'
import { EXAMPLES } from './stage.js'

const text = z.string().catch('')
/** The query of the page's address. */
export const visitQuery = z.object({
  ...{ from: text, seed: text, model: text, prompt: text, write: text, idea: ownId, settings: ownId },
})

export const modelOf = (models: readonly ModelVersion[], { modelVersionId }: { readonly modelVersionId: number }) =>
  models.find(({ id }) => id === modelVersionId)

/** What the page begins with. */
export interface Shown {
  readonly form: Form
  readonly example: boolean
  /** Nothing was asked for. */
  readonly plain: boolean
  readonly problem?: Problem | undefined
  /** What the image that it begins with was made by. */
  readonly source?: PastGeneration | undefined
  /** The ID of the idea that the form changes. */
  readonly editing?: string | undefined
  readonly settings?: Omit<SettingsShown, 'form'> | undefined
}

/** The models on offer, and the one that is taken where none is named. */
export interface Offer {
  readonly models: readonly ModelVersion[]
  readonly usual: ModelVersion | undefined
}

/** What is shown is what was asked for. */
export const ASKED = { example: false, plain: false } as const

/** The form of a visit: from an image, else as it was used last, else with an example that one key press draws. */
export async function formFor(
  ports: WebsitePorts,
  { caller, texts }: FastifyRequest,
  { from, seed, model, prompt, write, idea: edited, settings }: z.output<typeof visitQuery>,
  { models, usual: general }: Offer,
  latest: Form | undefined,
): Promise<Shown> {
  const [idea, saved, image] = await Promise.all([
    edited ? ports.upNext.find(caller.account.id, edited) : undefined,
    settings ? ports.savedSettings.find(caller.account.id, settings) : undefined,
    SLUG.test(from) ? ports.gallery.image(caller.account.id, from) : undefined,
  ])
  const included = models.filter(({ id }) => isAllowedModel(caller, id))
  const usual = defaultModelFor(caller, included, general)
  const isOffered = ({ model_version_id: id }: Form, among: readonly ModelVersion[] = included) =>
    among.some((it) => `${it.id}` === id)
  const before = idea
    ? formOfBody(idea.body)
    : image
      ? formOf({ ...image, width: image.askedWidth, height: image.askedHeight }, modelOf(models, image))
      : (latest ?? { ...blankForm(usual), prompt: EXAMPLES[0] })
  const asked = {
    ...before,
    ...(image && seed === '1' && { seed: `${image.seed}` }),
    ...(model && { model_version_id: model }),
    ...(prompt && { prompt: prompt }),
  }
  const includes = ({ id }: ModelVersion) => isAllowedModel(caller, id)
  const { form, problem: unapplied } = settings ? applied(saved, asked, models, includes, texts) : { form: asked }
  const source = image && (await ports.history.generation(caller.account.id, image.generationId))
  const example = before.prompt === form.prompt && !image && !idea && !latest
  const words = texts.playground.problems
  const missing = isOffered(form) ? undefined : { text: isOffered(form, models) ? words.notInPlan : words.notOffered }
  const isLost = from !== '' && !image
  const isBegun = edited !== undefined && !idea
  const problem: Problem | undefined =
    models.length === 0
      ? { text: words.noModels }
      : included.length === 0
        ? { text: words.noneInPlan, link: ['/account', words.plan] }
        : isLost
          ? { text: words.lost }
          : isBegun
            ? { text: words.begun }
            : (unapplied ?? missing)
  return {
    form: isOffered(form) ? form : { ...form, model_version_id: blankForm(usual).model_version_id },
    ...{ example, problem, source },
    plain: from === '' && model === '' && prompt === '' && write === '' && !idea && !settings,
    editing: idea?.id,
  }
}
