import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { AppError, invalidParameter } from '../../../core/errors.js'
import { sayUnserved } from '../../../core/operator/imported-versions.js'
import type { WorkflowReport } from '../../../core/operator/workflow-models.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, ReasonField, readForm, reason } from '../../parts/operator-forms.js'
import { Field, Notices } from '../../parts/page-parts.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { FileTextField, NotServed, Sentences } from './import-parts.js'
import { PriceField } from './price-field.js'

const PATH = '/operator/models/workflow'
/** Forms write a quotation mark as %22 and a line end as %0D%0A, so that a workflow gets up to twice as long. */
const BODY_LIMIT = 2 * 1024 * 1024
const MAX_LENGTH = BODY_LIMIT / 2

const text = z.string().catch('')
/** As it arrives: all of it text, and any of it wrong or missing. */
const formBody = z.object({
  /** The ID of the version that gets a new revision; empty: a new version. */
  version: text,
  ...{ id: text, model_name: text, name: text, base_model: text, credits_per_image: text, nsfw: text },
  ...{ workflow: text, allow_nodes: text, scale: text, reason: text },
  /** `yes`: it may replace what is drawn now although no backend can draw it. */
  anyway: text,
  action: text,
})
type Form = z.output<typeof formBody>
const query = formBody.pick({ version: true })

interface WorkflowPageProps {
  readonly form: Form
  readonly models: readonly ModelVersion[]
  readonly existing: ModelVersion | undefined
  readonly signedIn: SignedIn
  readonly report?: WorkflowReport | undefined
  readonly problem?: string | undefined
  /** Where no backend that is up can draw it: why, a sentence each. */
  readonly notServed?: readonly string[] | undefined
}

const WorkflowPage = ({ form, models, existing, signedIn, report, problem, notServed }: WorkflowPageProps) => (
  <OperatorLayout
    title={existing ? `A new workflow for version ${existing.id}` : 'Add a workflow'}
    signedIn={signedIn}
    path={PATH}
    script="workflow.js"
  >
    <Notices problem={problem} />
    {notServed && <NotServed of={notServed} />}
    <div class="workflow">
      {report && <Report of={report} />}
      <div class="stack">
        <VersionForm models={models} chosen={form.version} />
        <WorkflowForm form={form} existing={existing} asksAnyway={notServed !== undefined} />
      </div>
    </div>
  </OperatorLayout>
)

const Report = ({ of: { places, sections } }: { of: WorkflowReport }) => (
  <section class="card stack" id="report" aria-labelledby="report-title">
    <h2 id="report-title">How Easel reads the workflow</h2>
    <dl class="facts">
      {places.map(({ parameter, place }) => (
        <div>
          <dt>{parameter}</dt>
          <dd>
            <bdi>{place}</bdi>
          </dd>
        </div>
      ))}
    </dl>
    {sections.map(({ title, lines }) => (
      <div>
        <h3>{title}</h3>
        <Sentences of={lines} />
      </div>
    ))}
    <p class="quiet small">
      Nothing is stored yet. An import asks the GPU servers that are up, and says which of them draw it or what they
      lack.
    </p>
  </section>
)

/** Without scripts, too, a choice fills the form below. */
const VersionForm = ({ models, chosen }: { models: readonly ModelVersion[]; chosen: string }) => (
  <form class="card row" method="get" action={PATH}>
    <div class="field grows">
      <label for="version">For</label>
      <select id="version" name="version">
        <option value="">A new model version</option>
        {models.map(({ id, modelName, name, filename }) => (
          <option value={id} selected={`${id}` === chosen}>
            {`${id}: ${modelName} ${name}, ${filename}`}
          </option>
        ))}
      </select>
    </div>
    <button type="submit">Choose</button>
  </form>
)

interface WorkflowFormProps {
  readonly form: Form
  readonly existing: ModelVersion | undefined
  /** Whether an import was refused because no backend can draw it. */
  readonly asksAnyway: boolean
}

const WorkflowForm = ({ form, existing, asksAnyway }: WorkflowFormProps) => (
  <form class="card stack" method="post" action={PATH}>
    <input type="hidden" name="version" value={form.version} />
    <FileTextField id="workflow" label="Workflow" rows={10} maxLength={MAX_LENGTH} value={form.workflow}>
      The text of the file that ComfyUI saves with <i>Export (API)</i>, up to {MAX_LENGTH / 1024 / 1024} MB.
    </FileTextField>
    <div class="field">
      <label for="allow_nodes">Allowed node classes (--allow-node)</label>
      <textarea
        id="allow_nodes"
        name="allow_nodes"
        rows={2}
        spellcheck={false}
        autocomplete="off"
        aria-describedby="allow_nodes-hint"
      >
        {form.allow_nodes}
      </textarea>
      <p id="allow_nodes-hint" class="quiet small">
        One a line, of those that Easel does not know to only draw. Only what you trust: they may read any file of the
        GPU server, fetch addresses or run code.
      </p>
    </div>
    <Field
      id="scale"
      label="Scale"
      inputmode="decimal"
      value={form.scale}
      autocomplete="off"
      hint="The image's width divided by the one that is asked for, such as 2. Leave it empty where the workflow says it."
    />
    <div class="row">
      <button type="submit" name="action" value="check" formnovalidate>
        Check
      </button>
      <span class="quiet small">Shows how Easel reads the workflow, and stores nothing.</span>
    </div>
    <hr />
    {!existing && (
      <Field id="id" label="ID" inputmode="numeric" value={form.id} required autocomplete="off" hint={IDS} />
    )}
    <div class="pair wide">
      <Line id="model_name" label="Model name" value={form.model_name} />
      <Line id="name" label="Version name" value={form.name} />
      <Line id="base_model" label="Base model" value={form.base_model} />
      <PriceField id="credits_per_image" value={form.credits_per_image} />
    </div>
    <label class="row">
      <input type="checkbox" name="nsfw" value="yes" checked={form.nsfw === 'yes'} /> NSFW
    </label>
    <ReasonField id="reason" value={form.reason} />
    {asksAnyway && (
      <label class="row">
        <input type="checkbox" name="anyway" value="yes" /> Import it although no GPU server can draw it now
      </label>
    )}
    <div class="row">
      <button class="primary" type="submit" name="action" value="import">
        Import
      </button>
      <a href="/operator/models">Back to all models</a>
    </div>
    <p class="quiet small">
      {existing
        ? `The workflow makes the next revision: new generations are drawn with it, and what waits or runs ends with ${existing.filename}. Limits and a formula for the price stay.`
        : 'The version is on offer at once.'}
    </p>
  </form>
)

const IDS = 'Programs name the version by it.'

const Line = (props: { id: string; label: string; value: string }) => (
  <Field {...props} maxlength={255} required autocomplete="off" />
)

/** A new version with the next free ID, or what an existing one is called. */
const blankForm = (models: readonly ModelVersion[], existing: ModelVersion | undefined): Form => ({
  version: existing ? `${existing.id}` : '',
  id: `${existing?.id ?? Math.max(0, ...models.map(({ id }) => id)) + 1}`,
  model_name: existing?.modelName ?? '',
  name: existing?.name ?? '',
  base_model: existing?.baseModel ?? '',
  credits_per_image: `${existing?.creditsPerImage ?? 1}`,
  nsfw: existing?.nsfw ? 'yes' : '',
  ...{ workflow: '', allow_nodes: '', scale: '', reason: '', anyway: '', action: '' },
})

const numberOf = (value: string) => (value.trim() === '' ? Number.NaN : Number(value))
const NO_WORKFLOW = 'The workflow is missing: paste the text of the file that ComfyUI has exported.'

const workflowOf = ({ workflow, allow_nodes, scale }: Form) => {
  if (workflow.trim() === '') throw invalidParameter('workflow', NO_WORKFLOW)
  const lines = allow_nodes.split('\n').map((line) => line.trim())
  const allowNodes = lines.filter((line) => line !== '')
  return { source: workflow, allowNodes, scale: scale.trim() === '' ? undefined : numberOf(scale) }
}

const versionOf = (form: Form, existing: ModelVersion | undefined) => ({
  ...workflowOf(form),
  ...{ id: existing?.id ?? numberOf(form.id), name: form.name.trim(), modelName: form.model_name.trim() },
  ...{ baseModel: form.base_model.trim(), nsfw: form.nsfw === 'yes' },
  ...{ creditsPerImage: numberOf(form.credits_per_image), existing, isMeant: form.anyway === 'yes' },
})

/** A workflow as a new model version, or as the next revision of one. */
export function workflowRoutes(app: App, { ports }: WebsiteOptions): void {
  const { catalog, workflows } = ports
  const find = (models: readonly ModelVersion[], { version }: Pick<Form, 'version'>) =>
    models.find(({ id }) => `${id}` === version)

  app.get(PATH, { schema: { querystring: query } }, async (request, reply) => {
    const models = await catalog.list()
    const existing = find(models, request.query)
    const props = { models, existing, signedIn: sessionOf(request) }
    return sendPage(reply, <WorkflowPage {...props} form={blankForm(models, existing)} />)
  })

  app.post(PATH, { schema: { body: formBody }, bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const form = request.body
    const models = await catalog.list()
    const existing = find(models, form)
    const page = { form, models, existing, signedIn: sessionOf(request) }
    const refuse = (problem: string) => sendPage(reply, <WorkflowPage {...page} problem={problem} />)
    try {
      if (form.action !== 'import')
        return sendPage(reply, <WorkflowPage {...page} report={await workflows.check(workflowOf(form))} />)
      const version = versionOf(form, existing)
      const why = readForm(z.object({ reason }), form)
      if (!why.form) return refuse(refusalMessage(invalidParameter('reason', why.problem), reply))
      const { outcome, versions } = await workflows.import(version, actingOf(ports, request, why.form.reason))
      if (outcome === 'imported')
        return reply.redirect(`/operator/models?imported=${version.id}&change=${versions[0]?.change}`, 303)
      const unserved = new AppError('invalid_request', `${sayUnserved(versions)}: tick the box below if it is meant.`)
      const notServed = versions.flatMap((it) => it.notServed)
      return sendPage(reply, <WorkflowPage {...page} problem={refusalMessage(unserved, reply)} notServed={notServed} />)
    } catch (error) {
      return refuse(refusalMessage(error, reply))
    }
  })
}
