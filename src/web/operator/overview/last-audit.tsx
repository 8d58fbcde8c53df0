import type { AuditResult } from '../../../core/operator/overview.js'
import { Moment, number } from '../../parts/text.js'

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
