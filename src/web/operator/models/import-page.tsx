import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import { importModels } from '../../../core/operator/catalog.js'
import { sayUnserved, type UnservedVersion } from '../../../core/operator/imported-versions.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, mistake, ReasonField, readForm, reason } from '../../parts/operator-forms.js'
import { Notices } from '../../parts/page-parts.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { FileTextField, NotServed } from './import-parts.js'

const PATH = '/operator/models/import'
/** Forms write a quotation mark as %22 and a line end as %0D%0A, so that a text gets up to twice as long. */
const BODY_LIMIT = 2 * 1024 * 1024
const MAX_LENGTH = BODY_LIMIT / 2

const text = z.string().catch('')
const formBody = z.object({
  models: text,
  reason: text,
  /** `yes`: what is drawn now may get what no backend can draw. */
  anyway: text,
})
type Form = z.output<typeof formBody>
const reasonForm = z.object({ reason })

interface ImportPageProps {
  readonly form: Form
  readonly signedIn: SignedIn
  readonly problem?: string | undefined
  /** Where the GPU servers lack something: why, a sentence each. */
  readonly notServed?: readonly string[] | undefined
}

const ImportPage = ({ form, signedIn, problem, notServed }: ImportPageProps) => (
  <OperatorLayout title="Import models" signedIn={signedIn} path={PATH} script="workflow.js">
    <Notices problem={problem} />
    {notServed && <NotServed of={notServed} />}
    <form class="card stack" method="post" action={PATH}>
      <FileTextField id="models" label="Model versions" rows={14} maxLength={MAX_LENGTH} value={form.models}>
        A JSON array, as <code>easel models import</code> takes and <code>easel models list --json</code> shows it, up
        to {MAX_LENGTH / 1024 / 1024} MB. Versions whose ID exists already are updated: what an entry leaves out stays.
      </FileTextField>
      <ReasonField id="reason" value={form.reason} />
      {notServed && (
        <label class="row">
          <input type="checkbox" name="anyway" value="yes" /> Import them although no GPU server can draw them now
        </label>
      )}
      <div class="row">
        <button class="primary" type="submit">
          Import
        </button>
        <a href="/operator/models">Back to all models</a>
      </div>
      <p class="quiet small">
        All are imported, or none. It asks the GPU servers that are up what they lack, which takes some seconds.
      </p>
    </form>
  </OperatorLayout>
)

/** The list itself, or what /admin/v1/models answers. @throws invalid_request */
function entriesIn(models: string): readonly unknown[] {
  if (models.trim() === '') throw mistake('The model versions are missing: paste the text of the file.')
  if (models.includes('\ufffd'))
    throw mistake(
      'The text was not read as it is in the file (it has U+FFFD): save the file in UTF-8, then choose it again.',
    )
  let given: unknown
  try {
    given = JSON.parse(models.replace(/^\ufeff/, ''))
  } catch (error) {
    throw mistake(`The text is not valid JSON: ${(error as Error).message}.`)
  }
  const list = typeof given === 'object' && given !== null && 'models' in given ? given.models : given
  if (!Array.isArray(list)) throw mistake('The text must hold a JSON array of model versions.')
  if (list.length === 0) throw mistake('The list is empty: it must hold at least one model version.')
  return list
}

/** Model versions from a file, as the command line imports them. */
export function importRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get(PATH, async (request, reply) =>
    sendPage(reply, <ImportPage form={{ models: '', reason: '', anyway: '' }} signedIn={sessionOf(request)} />),
  )

  app.post(PATH, { schema: { body: formBody }, bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const form = request.body
    let lacking: readonly UnservedVersion[] = []
    try {
      const { form: why, problem } = readForm(reasonForm, form)
      if (!why) throw mistake(problem)
      // Before the transaction: it waits for what the backends say.
      const prepared = await ports.prepareModels(entriesIn(form.models))
      await importModels(actingOf(ports, request, why.reason), prepared, async (unserved) => {
        if (form.anyway === 'yes') return
        lacking = unserved
        throw new AppError('invalid_request', `${sayUnserved(unserved)}: tick the box below if it is meant.`)
      })
      return reply.redirect(`/operator/models?count=${prepared.count}`, 303)
    } catch (error) {
      const notServed = lacking.length > 0 ? lacking.flatMap((it) => it.notServed) : undefined
      const problem = refusalMessage(error, reply)
      return sendPage(reply, <ImportPage {...{ form, problem, notServed }} signedIn={sessionOf(request)} />)
    }
  })
}
