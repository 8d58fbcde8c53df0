import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { SLUG } from '../../../core/images/ports.js'
import { REPORT_REASONS } from '../../../core/images/reports.js'
import { dismissReports, type ReportedImage } from '../../../core/operator/image-reports.js'
import { takeDown } from '../../../core/operator/images.js'
import type { App } from '../../../http/shared/fastify-app.js'
import type { Page } from '../../../lib/page.js'
import { SERVER_URLS } from '../../parts/image-urls.js'
import { sendPage } from '../../parts/layout.js'
import { Act, actingOf, readForm, reason } from '../../parts/operator-forms.js'
import { Notices, Pager } from '../../parts/page-parts.js'
import { counted, Moment } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { GenerationLink, ImageLink, UserLink } from '../parts/operator-parts.js'

const PATH = '/operator/reports'
const DONE = {
  removed: 'The image is removed, and its reports are closed.',
  dismissed: 'The reports are dismissed. The image stays.',
} as const

interface ReportsPageProps {
  readonly signedIn: SignedIn
  readonly images: Page<ReportedImage>
  readonly isFirst: boolean
  /** The address of an image's small version. */
  readonly thumbnail: (image: ReportedImage) => string
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

/** The images that visitors have reported, and what to do about each. */
const ReportsPage = ({ signedIn, images, isFirst, thumbnail, done, problem }: ReportsPageProps) => (
  <OperatorLayout title="Reports" signedIn={signedIn} path={PATH}>
    <Notices done={done} problem={problem} />
    {images.items.length === 0 ? (
      <section class="card empty">
        <p>{isFirst ? 'No report of a visitor waits for you.' : 'This is the end of the reports.'}</p>
      </section>
    ) : (
      images.items.map((image) => <Reported image={image} thumbnail={thumbnail(image)} />)
    )}
    <Pager first={isFirst ? undefined : PATH} next={images.next && `${PATH}?before=${images.next[0]}`} />
  </OperatorLayout>
)

const Reported = ({ image: it, thumbnail }: { image: ReportedImage; thumbnail: string }) => (
  <article class="card reported" aria-labelledby={`image-${it.slug}`}>
    <a href={`/image/${it.slug}`}>
      <img src={thumbnail} alt={`Reported, ${it.slug}`} loading="lazy" />
    </a>
    <div class="stack">
      <h2 id={`image-${it.slug}`}>
        <ImageLink slug={it.slug} />
      </h2>
      <p class="small">
        By <UserLink username={it.username} />, <GenerationLink id={it.generationId} />
      </p>
      <ul class="plain-list">
        {it.reports.map(({ reason: why, note, at, times }) => (
          <li>
            <span class={`badge ${why === 'minors' ? 'bad' : ''}`}>{REPORT_REASONS[why] ?? why}</span>{' '}
            <span class="quiet small">
              <Moment at={at} />
              {times > 1 && `, and ${counted(times - 1, 'more report')} for this reason`}
            </span>
            {note && (
              <p class="note" dir="auto">
                {note}
              </p>
            )}
          </li>
        ))}
      </ul>
      <div class="acts">
        <Act
          id={`remove-${it.slug}`}
          action={`${PATH}/${it.slug}/take-down`}
          name="Take down"
          button="Remove image"
          of={it.slug}
        >
          <p class="small">Its file goes, the CDN is told, and its page says that it was removed. This is for good.</p>
        </Act>
        <Act
          id={`dismiss-${it.slug}`}
          action={`${PATH}/${it.slug}/dismiss`}
          name="Dismiss"
          button="Dismiss reports"
          of={it.slug}
        >
          <input type="hidden" name="up_to" value={it.reports[0]?.id} />
          <p class="small">The image stays, and the reports above are closed.</p>
        </Act>
      </div>
    </div>
  </article>
)

const IMAGES_PER_PAGE = 20

const place = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER)
const query = z.object({
  before: place.optional().catch(undefined),
  done: z
    .enum(Object.keys(DONE) as (keyof typeof DONE)[])
    .optional()
    .catch(undefined),
})
const params = z.object({ slug: z.string().regex(SLUG).catch('') })
const fields = z.object({ reason })
/** The newest report that the operator has seen. */
const seen = z.object({ up_to: place.optional().catch(undefined) }).catch({})

/** What visitors reported: taking the image down, or dismissing the reports. */
export function reportedImageRoutes(app: App, { ports }: WebsiteOptions): void {
  const { administration } = ports

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    before?: number,
    said: { readonly done?: string | undefined; readonly problem?: string } = {},
  ) {
    const after = before === undefined ? undefined : [before]
    const page = await administration.imageReports.list({ limit: IMAGES_PER_PAGE, after })
    const thumbnail = ({ slug, hasThumbnail }: ReportedImage) =>
      hasThumbnail ? SERVER_URLS.thumbnailUrl(slug) : SERVER_URLS.url(slug)
    const shown = { images: page, isFirst: before === undefined, thumbnail, signedIn: sessionOf(request) }
    return sendPage(reply, <ReportsPage {...shown} {...said} />)
  }

  app.get(PATH, { schema: { querystring: query } }, async (request, reply) => {
    const { before, done } = request.query
    return show(request, reply, before, { done: done && DONE[done] })
  })

  const act = (
    name: string,
    done: keyof typeof DONE,
    work: (acting: ReturnType<typeof actingOf>, slug: string, body: unknown) => Promise<unknown>,
  ) =>
    app.post(`${PATH}/:slug/${name}`, { schema: { params } }, async (request, reply) => {
      const { form, problem } = readForm(fields, request.body)
      if (!form) return show(request, reply.code(400), undefined, { problem: problem ?? '' })
      try {
        await work(actingOf(ports, request, form.reason), request.params.slug, request.body)
      } catch (error) {
        return show(request, reply, undefined, { problem: refusalMessage(error, reply) })
      }
      return reply.redirect(`${PATH}?done=${done}`, 303)
    })
  act('take-down', 'removed', takeDown)
  act('dismiss', 'dismissed', (acting, slug, body) => dismissReports(acting, slug, seen.parse(body).up_to))
}
