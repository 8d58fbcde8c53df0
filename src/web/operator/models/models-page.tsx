import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { isDefinition } from '../../../core/catalog/model-definition.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { lowestPrice } from '../../../core/catalog/price.js'
import { AppError } from '../../../core/errors.js'
import { MAX_PRICE } from '../../../core/operator/catalog.js'
import { IMPORT_CHANGES, sayChange } from '../../../core/operator/imported-versions.js'
import type { BackendState } from '../../../core/operator/overview.js'
import { servingOf } from '../../../core/operator/serving.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { byOf, ReasonField, reason } from '../../parts/operator-forms.js'
import { Notices } from '../../parts/page-parts.js'
import { number } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table } from '../parts/operator-parts.js'
import { PriceField } from './price-field.js'

interface ModelsPageProps {
  readonly models: readonly ModelVersion[]
  readonly backends: readonly BackendState[]
  /** What has just been imported. */
  readonly done: string | undefined
  readonly signedIn: SignedIn
}

const ModelsPage = ({ models, backends, done, signedIn }: ModelsPageProps) => (
  <OperatorLayout
    title="Models"
    signedIn={signedIn}
    path="/operator/models"
    aside={
      <a class="button" href="/operator/models/workflow">
        Add a workflow
      </a>
    }
  >
    <Notices done={done} />
    <Table
      name="Model versions"
      columns={[['Model'], ['File'], ['Offered'], ['Credits per image', 'number'], ['Served by'], ['Change', 'act']]}
      empty="There are no model versions: import some with “easel models import FILE.json”."
    >
      {models.map((model) => (
        <tr>
          <td>
            <bdi>{model.modelName}</bdi> <bdi class="quiet">{model.name}</bdi>
            <div class="row small quiet">
              ID {model.id}
              {model.nsfw && <span class="badge">NSFW</span>}
              {model.createImageModel && <span class="badge">{model.createImageModel}</span>}
            </div>
          </td>
          <td>
            <bdi class="mono">{model.filename}</bdi>
          </td>
          <td>
            <span class={`badge ${model.enabled ? 'good' : 'bad'}`}>{model.enabled ? 'on' : 'off'}</span>
          </td>
          <td class="number">
            {model.pricing && 'from '}
            {number(lowestPrice(model))}
          </td>
          <td>
            <ServedBy model={model} backends={backends} />
          </td>
          <td class="number">
            <a class="button small" href={`/operator/models/${model.id}`}>
              Change<span class="hidden-visually"> version {model.id}</span>
            </a>
          </td>
        </tr>
      ))}
    </Table>
  </OperatorLayout>
)

const ServedBy = ({ model, backends }: { model: ModelVersion; backends: readonly BackendState[] }) => {
  const { servedBy, notServed } = servingOf(backends, model)
  if (servedBy.length === 0)
    return (
      <>
        <span class="bad">no live backend</span>
        {/* A checkpoint lacks its file, which is beside it. */}
        {isDefinition(model.filename) && (
          <ul class="plain-list quiet small">
            {notServed.map((reason) => (
              <li>
                <bdi>{reason}</bdi>
              </li>
            ))}
          </ul>
        )}
      </>
    )
  return (
    <ul class="plain-list">
      {servedBy.map((name) => (
        <li>
          <bdi class="mono">{name}</bdi>
        </li>
      ))}
    </ul>
  )
}

/** What an import has done, and whether it can be drawn. */
function saidOf(
  { imported, change }: z.output<typeof query>,
  models: readonly ModelVersion[],
  backends: BackendState[],
) {
  const model = models.find(({ id }) => id === imported)
  if (!model) return undefined
  const { servedBy } = servingOf(backends, model)
  const by = servedBy.length > 0 ? `served by ${servedBy.join(', ')}` : 'no GPU server that is up can draw it'
  return `${sayChange(change, model.id, model.filename)}; ${by}.`
}

/** Turns a version on or off and sets its price. */
const ModelPage = ({ model, signedIn }: { model: ModelVersion; signedIn: SignedIn }) => (
  <OperatorLayout title={`${model.modelName} ${model.name}`} signedIn={signedIn} path="/operator/models">
    <form class="card stack" method="post" action={`/operator/models/${model.id}`}>
      <p class="quiet">
        <bdi class="mono">{model.filename}</bdi>
      </p>
      <fieldset class="stack">
        <legend>Offered</legend>
        <div class="row">
          <Choice value="yes" name="On" checked={model.enabled} />
          <Choice value="no" name="Off: what is queued still runs" checked={!model.enabled} />
        </div>
      </fieldset>
      <PriceField
        id="price"
        value={model.creditsPerImage}
        besides={model.pricing ? ', besides those for its size and steps' : ''}
      />
      <ReasonField id="reason" />
      <div class="row">
        <button class="primary" type="submit">
          Save
        </button>
        <a href={`/operator/models/workflow?version=${model.id}`}>Give it a workflow</a>
        <a href="/operator/models">Back to all models</a>
      </div>
    </form>
  </OperatorLayout>
)

const Choice = ({ value, name, checked }: { value: string; name: string; checked: boolean }) => (
  <span class="row">
    <input id={`enabled-${value}`} type="radio" name="enabled" value={value} checked={checked} />
    <label for={`enabled-${value}`}>{name}</label>
  </span>
)

const PRICE = `The price is a whole number from 0 to ${MAX_PRICE}: credits per image.`
const params = z.object({ id: z.coerce.number().int().min(1).catch(0) })
const query = z.object({
  imported: z.coerce.number().optional().catch(undefined),
  change: z.enum(IMPORT_CHANGES).catch('moved'),
})
const price = z
  .string(PRICE)
  .trim()
  .regex(/^\d{1,7}$/, PRICE)
  .transform(Number)
  .refine((credits) => credits <= MAX_PRICE, PRICE)
const enabled = z.enum(['yes', 'no'], 'Choose whether it is offered: yes or no.')
const body = z.object({ reason, price, enabled })

/** The model versions: which are offered, and for how much. */
export function modelRoutes(app: App, { ports }: WebsiteOptions): void {
  const { catalog } = ports
  const find = async (id: number) => {
    const model = (await catalog.list()).find((it) => it.id === id)
    if (!model) throw new AppError('not_found', 'No model version has this ID: choose one of the list.')
    return model
  }

  app.get('/operator/models', { schema: { querystring: query } }, async (request, reply) => {
    const [models, backends] = await Promise.all([catalog.list(), catalog.backends()])
    const done = saidOf(request.query, models, backends)
    return sendPage(reply, <ModelsPage {...{ models, backends, done }} signedIn={sessionOf(request)} />)
  })

  app.get('/operator/models/:id', { schema: { params } }, async (request, reply) => {
    const model = await find(request.params.id)
    return sendPage(reply, <ModelPage model={model} signedIn={sessionOf(request)} />)
  })

  app.post('/operator/models/:id', { schema: { params, body } }, async (request, reply) => {
    const model = await find(request.params.id)
    const { price, reason } = request.body
    const by = byOf(request, reason)
    const isOn = request.body.enabled === 'yes'
    // Only what changes is written and recorded.
    if (price !== model.creditsPerImage) await catalog.setPrice(model.id, price, by)
    if (isOn !== model.enabled) await catalog.setEnabled(model.id, isOn, by)
    return reply.redirect('/operator/models', 303)
  })
}
