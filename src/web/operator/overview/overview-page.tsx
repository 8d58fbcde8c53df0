import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { invalidParameter } from '../../../core/errors.js'
import type { AuditResult, Overview } from '../../../core/operator/overview.js'
import { PAUSE_SCOPES, type Pausable, pause, resume } from '../../../core/operator/pauses.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { isStorable } from '../../../lib/text.js'
import { sendFragment, sendPage } from '../../parts/layout.js'
import { byOf, ReasonField, reason } from '../../parts/operator-forms.js'
import { Moment, number } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { isPaused } from '../parts/operator-parts.js'
import { OverviewParts } from './overview-parts.js'

interface OverviewPageProps {
  readonly overview: Overview
  readonly models: readonly ModelVersion[]
  /** What the form to pause names at first. */
  readonly chosen: string
  readonly audit: AuditResult | undefined
  readonly signedIn: SignedIn
}

/** The form stands beside what refreshes itself: no refresh takes away what is being typed. */
const OverviewPage = ({ overview, models, chosen, audit, signedIn }: OverviewPageProps) => (
  <OperatorLayout
    title="Overview"
    signedIn={signedIn}
    path="/operator"
    live
    aside={
      <a class="button small" href="#pause">
        Pause…
      </a>
    }
  >
    <div id="live" class="stack" hx-get="/operator/live" hx-trigger="every 2s" hx-swap="innerMorph">
      <OverviewParts overview={overview} />
    </div>
    <PauseForm overview={overview} models={models} chosen={chosen} />
    <LastAudit audit={audit} />
  </OperatorLayout>
)

const PauseForm = ({ overview, models, chosen }: Omit<OverviewPageProps, 'audit' | 'signedIn'>) => {
  const running = (scope: 'model' | 'backend', targets: readonly string[]) =>
    [...new Set(targets)].filter((target) => !isPaused(overview, scope, target))
  const files = running(
    'model',
    [...models, ...overview.queue].map(({ filename }) => filename),
  ).sort()
  const backends = running(
    'backend',
    overview.backends.map(({ name }) => name),
  )
  return (
    <form class="card pause" method="post" action="/operator/pause" aria-labelledby="pause">
      <h2 id="pause">Pause</h2>
      <div class="field">
        <label for="what">What</label>
        <select id="what" name="what">
          {!isPaused(overview, 'all', '') && <option value="all">Everything</option>}
          <Targets label="A model" scope="model" targets={files} chosen={chosen} />
          <Targets label="A backend" scope="backend" targets={backends} chosen={chosen} />
        </select>
      </div>
      <ReasonField id="reason" />
      <button type="submit">Pause</button>
      <p class="quiet small">What runs goes on; what waits keeps its place and its deadline.</p>
    </form>
  )
}

interface TargetsProps {
  readonly label: string
  readonly scope: 'model' | 'backend'
  readonly targets: readonly string[]
  readonly chosen: string
}

const Targets = ({ label, scope, targets, chosen }: TargetsProps) =>
  targets.length === 0 ? null : (
    <optgroup label={label}>
      {targets.map((target) => (
        <option value={`${scope} ${target}`} selected={chosen === `${scope} ${target}`}>
          {target}
        </option>
      ))}
    </optgroup>
  )

/** `all`, or a scope and its target with a blank between them. */
const what = z.string().transform((text): Pausable => {
  const [, scope, target = ''] = /^(\S+) ?(.*)$/s.exec(text) ?? []
  const known = PAUSE_SCOPES.find((it) => it === scope)
  if (!known || (known === 'all') !== (target === '') || !isStorable(target))
    throw invalidParameter('what', 'Choose what to pause from the list.')
  return { scope: known, target }
})
const preselected = z.object({ what: z.string().max(600).catch('all') })
const pauseBody = z.object({ what, reason })
const resumeBody = z.object({ what, reason: reason.or(z.literal('')).catch('') })

/** The queue, the backends and what failed; pausing and resuming. */
export function overviewRoutes(app: App, { ports }: WebsiteOptions): void {
  const { oversight, pauses, catalog, auditResults } = ports

  app.get('/operator', { schema: { querystring: preselected } }, async (request, reply) => {
    const [overview, models, audit] = await Promise.all([oversight.overview(), catalog.list(), auditResults.last()])
    const chosen = request.query.what
    return sendPage(
      reply,
      <OverviewPage overview={overview} models={models} chosen={chosen} audit={audit} signedIn={sessionOf(request)} />,
    )
  })

  app.get('/operator/live', async (_request, reply) =>
    sendFragment(reply, <OverviewParts overview={await oversight.overview()} />),
  )

  app.post('/operator/pause', { schema: { body: pauseBody } }, async (request, reply) => {
    const { what, reason } = request.body
    await pause(pauses, what, byOf(request, reason))
    return reply.redirect('/operator', 303)
  })

  app.post('/operator/resume', { schema: { body: resumeBody } }, async (request, reply) => {
    const { what, reason } = request.body
    await resume(pauses, what, byOf(request, reason))
    return reply.redirect('/operator', 303)
  })
}

/** What the last audit of the running service found. */
export const LastAudit = ({ audit }: { audit: AuditResult | undefined }) => (
  <section class="card stack" aria-labelledby="last-audit">
    <h2 id="last-audit">Last audit</h2>
    {audit ? (
      <Findings audit={audit} />
    ) : (
      <p class="quiet">None has ended yet. The first one follows two minutes after the start.</p>
    )}
  </section>
)

const Findings = ({ audit: { checks, finishedAt, tookMs } }: { audit: AuditResult }) => {
  const violated = checks.filter(({ violations }) => violations > 0)
  return (
    <>
      <div class="row">
        {violated.length === 0 ? (
          <span class="badge good">Nothing wrong</span>
        ) : (
          <span class="badge bad">
            {violated.length} of {checks.length} checks failed
          </span>
        )}
        <span class="quiet small">
          {checks.length} checks, <Moment at={finishedAt} />, in {(tookMs / 1000).toFixed(1)} s
        </span>
      </div>
      {violated.length > 0 && (
        <>
          <dl class="facts">
            {violated.map(({ name, violations }) => (
              <div>
                <dt>{name}</dt>
                <dd class="bad">{number(violations)}</dd>
              </div>
            ))}
          </dl>
          <p class="small quiet">
            <code>easel audit</code> shows examples of each.
          </p>
        </>
      )}
    </>
  )
}
