import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { MAX_DESCRIPTION, type ModelVersion } from '../../../core/catalog/model-version.js'
import { AppError } from '../../../core/errors.js'
import { describeModel, MAX_PRICE, setDefaultModel } from '../../../core/operator/catalog.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { isLine } from '../../../lib/text.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, byOf, ReasonField, readForm, reason } from '../../parts/operator-forms.js'
import { Field, Notices } from '../../parts/page-parts.js'
import type { WebsiteOptions, WebsitePorts } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { CoverForms } from './cover-forms.js'
import { PriceField } from './price-field.js'

interface ModelPageProps {
  readonly model: ModelVersion
  readonly signedIn: SignedIn
  /** Why nothing was changed, and what was typed. */
  readonly problem?: string | undefined
  readonly form?: Form | undefined
  /** The address of a picture. */
  readonly image?: string | undefined
}

/** What people see of a version, whether it is on offer, and what it costs. */
export const ModelPage = ({ model, signedIn, problem, form = formOf(model), image }: ModelPageProps) => (
  <OperatorLayout title={`${model.modelName} ${model.name}`} signedIn={signedIn} path="/operator/models">
    <Notices problem={problem} />
    <form class="card stack" method="post" action={`/operator/models/${model.id}`}>
      <p class="quiet">
        <bdi class="mono">{model.filename}</bdi>
      </p>
      <fieldset class="stack">
        <legend>Offered</legend>
        <div class="row">
          <Choice value="yes" name="On" checked={form.enabled !== 'no'} />
          <Choice value="no" name="Off: what is queued still runs" checked={form.enabled === 'no'} />
        </div>
      </fieldset>
      <PriceField
        id="price"
        value={form.price}
        besides={model.pricing ? ', besides those for its size and steps' : ''}
      />
      <Field
        id="description"
        label="Description"
        value={form.description}
        maxlength={MAX_DESCRIPTION}
        dir="auto"
        autocomplete="off"
        hint={`A line that people read when they choose, of up to ${MAX_DESCRIPTION} characters. It may be empty.`}
      />
      <label class="row">
        <input type="hidden" name="default" value="no" />
        <input type="checkbox" name="default" value="yes" checked={form.default} /> The default, where no model is named
      </label>
      <ReasonField id="reason" value={form.reason} />
      <div class="row">
        <button class="primary" type="submit">
          Save
        </button>
        <a href={`/operator/models/workflow?version=${model.id}`}>Give it a workflow</a>
        <a href="/operator/models">Back to all models</a>
      </div>
    </form>
    <CoverForms model={model} image={image} />
  </OperatorLayout>
)

const Choice = ({ value, name, checked }: { value: string; name: string; checked: boolean }) => (
  <span class="row">
    <input id={`enabled-${value}`} type="radio" name="enabled" value={value} checked={checked} />
    <label for={`enabled-${value}`}>{name}</label>
  </span>
)

const PRICE = `The price is a whole number from 0 to ${MAX_PRICE}: credits per image.`
const DESCRIPTION = `The description is one line of up to ${MAX_DESCRIPTION} characters.`
export const params = z.object({ id: z.coerce.number().int().min(1).catch(0) })
const price = z
  .string(PRICE)
  .trim()
  .regex(/^\d{1,7}$/, PRICE)
  .transform(Number)
  .refine((credits) => credits <= MAX_PRICE, PRICE)
const description = z
  .string()
  .trim()
  .refine((text) => text === '' || isLine(text, MAX_DESCRIPTION), DESCRIPTION)
const enabled = z.enum(['yes', 'no'], 'Choose whether it is offered: yes or no.')
const fields = z.object({ reason, price, enabled, description, default: z.boolean() })

const text = z.string().catch('')
/** As it arrives. With the hidden field before it, a ticked box sends both. */
const body = z.object({
  ...{ price: text, enabled: text, reason: text, description: z.string().optional().catch(undefined) },
  default: z
    .union([z.string(), z.array(z.string())])
    .transform((sent) => [sent].flat().includes('yes'))
    .optional()
    .catch(undefined),
})
type Form = ReturnType<typeof formOf>

const formOf = ({ creditsPerImage, enabled, description, isDefault }: ModelVersion) => ({
  ...{ price: `${creditsPerImage}`, enabled: enabled ? 'yes' : 'no', reason: '' },
  ...{ description: description ?? '', default: isDefault },
})

/** @throws not_found */
export async function findModel({ catalog }: Pick<WebsitePorts, 'catalog'>, id: number): Promise<ModelVersion> {
  const model = (await catalog.list()).find((it) => it.id === id)
  if (!model) throw new AppError('not_found', 'No model version has this ID: choose one of the list.')
  return model
}

/** One version: whether it is offered, for how much, with what description, and whether it is the default. */
export function modelRoutes(app: App, { ports }: WebsiteOptions): void {
  const { catalog } = ports

  app.get('/operator/models/:id', { schema: { params } }, async (request, reply) => {
    const model = await findModel(ports, request.params.id)
    return sendPage(reply, <ModelPage model={model} signedIn={sessionOf(request)} />)
  })

  app.post('/operator/models/:id', { schema: { params, body } }, async (request, reply) => {
    const model = await findModel(ports, request.params.id)
    const { description, default: isTicked, ...sent } = request.body
    const before = formOf(model)
    // What the form lacks stays.
    const form = { ...sent, description: description ?? before.description, default: isTicked ?? before.default }
    const { form: read, problem } = readForm(fields, form)
    if (!read) {
      const page = <ModelPage {...{ model, problem, form }} signedIn={sessionOf(request)} />
      return sendPage(reply.code(400), page)
    }
    const { price, reason } = read
    const by = byOf(request, reason)
    const acting = actingOf(ports, request, reason)
    const isOn = read.enabled === 'yes'
    // Only what changes is written and recorded.
    if (price !== model.creditsPerImage) await catalog.setPrice(model.id, price, by)
    if (isOn !== model.enabled) await catalog.setEnabled(model.id, isOn, by)
    if (read.description !== before.description) await describeModel(acting, model.id, read.description || null)
    if (read.default !== model.isDefault) await setDefaultModel(acting, read.default ? model.id : undefined)
    return reply.redirect('/operator/models', 303)
  })
}
