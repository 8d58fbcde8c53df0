import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { coverPath } from '../../../core/catalog/cover.js'
import { isDefinition } from '../../../core/catalog/model-definition.js'
import { inPlace, type ModelVersion } from '../../../core/catalog/model-version.js'
import { lowestPrice } from '../../../core/catalog/price.js'
import { moveModel } from '../../../core/operator/catalog.js'
import { IMPORT_CHANGES, sayChange } from '../../../core/operator/imported-versions.js'
import type { BackendState } from '../../../core/operator/overview.js'
import { servingOf } from '../../../core/operator/serving.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf } from '../../parts/operator-forms.js'
import { Notices } from '../../parts/page-parts.js'
import { counted, number } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { Table } from '../parts/operator-parts.js'

interface ModelsPageProps {
  /** As people choose from them. */
  readonly models: readonly ModelVersion[]
  readonly backends: readonly BackendState[]
  /** What is taken now where none is named. */
  readonly usual: ModelVersion | undefined
  /** What has just been imported. */
  readonly done: string | undefined
  readonly signedIn: SignedIn
}

const ModelsPage = ({ models, backends, usual, done, signedIn }: ModelsPageProps) => (
  <OperatorLayout
    title="Models"
    signedIn={signedIn}
    path="/operator/models"
    aside={
      <span class="row">
        <a class="button" href="/operator/models/import">
          Import
        </a>
        <a class="button" href="/operator/models/workflow">
          Add a workflow
        </a>
      </span>
    }
  >
    <Notices done={done} />
    <Table
      name="Model versions"
      columns={[
        ['Model'],
        ['Offered'],
        ['Credits per image', 'number'],
        ['Served by'],
        ['Place', 'act'],
        ['Change', 'act'],
      ]}
      empty="There are no model versions: import some with the button above, or with “easel models import FILE.json”."
    >
      {models.map((model, n) => (
        <tr id={`model-${model.id}`}>
          <td>
            <div class="model">
              <img src={coverPath(model)} alt="" width="96" height="64" loading="lazy" />
              <div>
                <bdi>{model.modelName}</bdi> <bdi class="quiet">{model.name}</bdi>
                <div>
                  <bdi class="mono">{model.filename}</bdi>
                </div>
                {model.description && (
                  <div class="small">
                    <bdi>{model.description}</bdi>
                  </div>
                )}
                <div class="row small quiet">
                  ID {model.id}
                  {model.id === usual?.id && <span class="badge good">default</span>}
                  {model.isDefault && model.id !== usual?.id && <span class="badge bad">chosen as default</span>}
                  {model.nsfw && <span class="badge">NSFW</span>}
                  {model.createImageModel && <span class="badge">{model.createImageModel}</span>}
                </div>
              </div>
            </div>
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
          <td>
            <Mover model={model} isFirst={n === 0} isLast={n === models.length - 1} />
          </td>
          <td class="number">
            <a class="button small" href={`/operator/models/${model.id}`}>
              Change<span class="hidden-visually"> version {model.id}</span>
            </a>
          </td>
        </tr>
      ))}
    </Table>
    <p class="quiet small">
      People choose from them in this order, with the default first. What no GPU server can draw waits, and fails with a
      refund.
    </p>
  </OperatorLayout>
)

interface MoverProps {
  readonly model: ModelVersion
  readonly isFirst: boolean
  readonly isLast: boolean
}

/** Moves a version before or behind its neighbour. */
const Mover = ({ model: { id, modelName, name }, isFirst, isLast }: MoverProps) => (
  <form class="row mover" method="post" action={`/operator/models/${id}/move`}>
    <button
      class="small"
      type="submit"
      name="by"
      value="up"
      disabled={isFirst}
      aria-label={`Move ${modelName} ${name} up`}
    >
      ↑
    </button>
    <button
      class="small"
      type="submit"
      name="by"
      value="down"
      disabled={isLast}
      aria-label={`Move ${modelName} ${name} down`}
    >
      ↓
    </button>
  </form>
)

const ServedBy = ({ model, backends }: { model: ModelVersion; backends: readonly BackendState[] }) => {
  const { servedBy, notServed } = servingOf(backends, model)
  if (servedBy.length === 0)
    return (
      <>
        <span class="bad">{unservedText(model, backends)}</span>
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

function unservedText({ filename }: ModelVersion, backends: readonly BackendState[]): string {
  if (!backends.some(({ up }) => up)) return 'no backend is up'
  return isDefinition(filename) ? 'no backend can draw it' : 'no backend has this file'
}

/** What an import has done, and whether it can be drawn. */
function saidOf(
  { imported, change, count }: z.output<typeof query>,
  models: readonly ModelVersion[],
  backends: BackendState[],
) {
  if (count > 0) return `Imported ${counted(count, 'model version')}. The list says which GPU servers draw each.`
  const model = models.find(({ id }) => id === imported)
  if (!model) return undefined
  const { servedBy } = servingOf(backends, model)
  const by = servedBy.length > 0 ? `served by ${servedBy.join(', ')}` : 'no GPU server that is up can draw it'
  return `${sayChange(change, model.id, model.filename)}; ${by}.`
}

const query = z.object({
  imported: z.coerce.number().optional().catch(undefined),
  change: z.enum(IMPORT_CHANGES).catch('moved'),
  /** Of an import of several. */
  count: z.coerce.number().int().catch(0),
})
const params = z.object({ id: z.coerce.number().int().min(1).catch(0) })
const body = z.object({ by: z.enum(['up', 'down'], 'Choose whether it moves up or down.') })

/** The model versions, as people choose from them, and their order. */
export function modelsRoutes(app: App, { ports }: WebsiteOptions): void {
  const { catalog } = ports

  app.get('/operator/models', { schema: { querystring: query } }, async (request, reply) => {
    const [models, backends, usual] = await Promise.all([
      catalog.list(),
      catalog.backends(),
      ports.models.findDefault(),
    ])
    const props = { models: inPlace(models), backends, usual, done: saidOf(request.query, models, backends) }
    return sendPage(reply, <ModelsPage {...props} signedIn={sessionOf(request)} />)
  })

  app.post('/operator/models/:id/move', { schema: { params, body } }, async (request, reply) => {
    const { id } = request.params
    await moveModel(actingOf(ports, request, ''), id, request.body.by === 'up' ? -1 : 1)
    return reply.redirect(`/operator/models#model-${id}`, 303)
  })
}
