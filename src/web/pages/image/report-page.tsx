import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { AppError, imageNotFound } from '../../../core/errors.js'
import { SLUG } from '../../../core/images/ports.js'
import { REPORT_REASONS, type ReportReason, reportImage, reportProblem } from '../../../core/images/reports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf } from '../../../http/shared/networks.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { inWords } from '../../texts/refusals.js'
import { useTexts } from '../../texts/texts.js'
import { ReportForm } from './report-form.js'

interface ReportPageProps {
  readonly slug: string
  readonly signedIn: SignedIn | null
  /** The report was sent. */
  readonly sent?: boolean
  readonly problem?: string
  readonly reason?: string
  readonly note?: string
}

/** Where a report ends, or begins for those who came here otherwise. */
const ReportPage = ({ slug, signedIn, sent = false, problem, reason, note }: ReportPageProps) => {
  const words = useTexts().image.report
  return (
    <Layout title={words.title} signedIn={signedIn} path="/image" class="narrow">
      <section class="card stack">
        <h1>{sent ? words.thanks : words.title}</h1>
        {sent ? (
          <p role="status">{words.received}</p>
        ) : (
          <>
            <Notices problem={problem} />
            <ReportForm slug={slug} reason={reason ?? ''} note={note ?? ''} />
          </>
        )}
        <p>
          <a href={`/image/${slug}`}>{words.back}</a>
        </p>
      </section>
    </Layout>
  )
}

const HOUR_MS = 3_600_000
/** From one network. */
const REPORTS_PER_HOUR = 10
/** Of one image. */
const SAME_PER_HOUR = 2

const params = z.object({ slug: z.string().regex(SLUG).catch('') })
const query = z.object({ sent: z.literal('').optional().catch(undefined) })
const body = z
  .object({
    reason: z.string().catch(''),
    // A browser sends the end of a line as two characters.
    note: z
      .string()
      .catch('')
      .transform((text) => text.replaceAll('\r\n', '\n').trim()),
  })
  .catch({ reason: '', note: '' })

const isReason = (text: string): text is ReportReason => Object.hasOwn(REPORT_REASONS, text)

/** Reporting a public image to the operators, for everybody but its owner. No address and no account is kept. */
export function reportRoutes(app: App, { ports }: WebsiteOptions): void {
  const { guesses, gallery, publishedImages, reports } = ports

  /** @throws not_found unless there is such an image, and whoever asks may report it */
  async function requireReportable({ signedIn }: FastifyRequest, slug: string): Promise<void> {
    const image = slug ? await publishedImages.find(slug) : undefined
    // Who may see a private image has its owner's word for it.
    if (!image || image.removed || image.isPrivate) throw imageNotFound()
    if (signedIn && (await gallery.image(signedIn.caller.account.id, slug)))
      throw new AppError('invalid_request', 'This is your own image: delete it on its page instead.')
  }

  app.get('/image/:slug/report', { schema: { params, querystring: query } }, async (request, reply) => {
    const { slug } = request.params
    const sent = request.query.sent !== undefined
    if (!sent) await requireReportable(request, slug)
    return sendPage(reply, <ReportPage {...{ slug, sent }} signedIn={request.signedIn} />)
  })

  app.post('/image/:slug/report', { schema: { params, body } }, async (request, reply) => {
    const { slug } = request.params
    const { reason, note } = request.body
    const words = request.texts.image.report
    const refuse = (status: number, problem: string) =>
      sendPage(reply.code(status), <ReportPage {...{ slug, reason, note, problem }} signedIn={request.signedIn} />)
    await requireReportable(request, slug)
    if (!isReason(reason)) return refuse(400, words.noReason)
    const problem = reportProblem({ reason, note })
    if (problem) return refuse(400, inWords(problem, request.texts))
    const network = networkOf(request.ip)
    const same = await guesses.hit(`report:${network}:${slug}`, HOUR_MS, SAME_PER_HOUR)
    if (same.current > SAME_PER_HOUR) return refuse(429, words.alreadyReported)
    const all = await guesses.hit(`report:${network}`, HOUR_MS, REPORTS_PER_HOUR)
    if (all.current > REPORTS_PER_HOUR) return refuse(429, words.tooMany)
    await reportImage(reports, slug, { reason, note })
    return reply.redirect(`/image/${slug}/report?sent=`, 303)
  })
}
