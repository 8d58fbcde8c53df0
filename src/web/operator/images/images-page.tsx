import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { imageNotFound } from '../../../core/errors.js'
import { GENERATION_ID } from '../../../core/generations/generation.js'
import { SLUG } from '../../../core/images/ports.js'
import { type RecentImage, takeDown } from '../../../core/operator/images.js'
import type { App } from '../../../http/shared/fastify-app.js'
import type { Page } from '../../../lib/page.js'
import { SERVER_URLS } from '../../parts/image-urls.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, ReasonField, readForm, reason } from '../../parts/operator-forms.js'
import { Field, Notices, Pager } from '../../parts/page-parts.js'
import { address } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { UserLink } from '../parts/operator-parts.js'

interface ImagesPageProps {
  readonly signedIn: SignedIn
  readonly images: Page<RecentImage>
  /** Where this page of the wall begins; undefined: at the newest image. */
  readonly before?: number | undefined
  /** The address of an image's small version. */
  readonly thumbnail: (image: RecentImage) => string
  /** What the form names, and after a mistake why. */
  readonly image: string
  readonly why?: string
  /** The address of the picture that the form names, if there is one. */
  readonly picture: string | undefined
  readonly done?: string | undefined
  readonly problem?: string | undefined
}

const PATH = '/operator/images'

/** The newest images of all accounts, and the way to remove one. */
const ImagesPage = (props: ImagesPageProps) => {
  const { signedIn, images, before, thumbnail, image, why, picture, done, problem } = props
  return (
    <OperatorLayout
      title="Images"
      signedIn={signedIn}
      path={PATH}
      aside={<a href={`${PATH}/removed`}>Removed images</a>}
    >
      <Notices done={done} problem={problem} />
      <form class="card stack" method="post" action={PATH} aria-labelledby="remove">
        <h2 id="remove">Remove an image</h2>
        {picture && <img class="chosen" src={picture} alt="To be removed" />}
        <div class="pair wide">
          <Field
            id="image"
            label="Image"
            value={image}
            maxlength={500}
            placeholder="Its address, or the last part of it"
            required
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
          />
          <ReasonField id="reason" value={why} />
        </div>
        {before !== undefined && <input type="hidden" name="before" value={before} />}
        <div class="row apart">
          <p class="quiet small">
            Its file goes, the CDN is told, and its page says that it was removed. This cannot be undone.
          </p>
          <button class="danger" type="submit">
            Remove image
          </button>
        </div>
      </form>
      <section class="stack" aria-labelledby="newest">
        <h2 id="newest">{before === undefined ? 'Newest images' : 'Older images'}</h2>
        {images.items.length === 0 ? (
          <p class="quiet">{images.next ? 'All images of this page were removed.' : 'There are no images here.'}</p>
        ) : (
          <ul class="wall">
            {images.items.map((it) => (
              <li>
                <a href={`/operator/generations/${it.generationId}`}>
                  <img src={thumbnail(it)} alt={`Generation of ${it.slug}`} loading="lazy" />
                </a>
                <UserLink username={it.username} />
                <a
                  class="small"
                  href={`${address(PATH, { image: it.slug, before })}#remove`}
                  aria-label={`Remove… ${it.slug}`}
                >
                  Remove…
                </a>
              </li>
            ))}
          </ul>
        )}
      </section>
      <Pager
        first={before === undefined ? undefined : PATH}
        next={images.next && address(PATH, { before: images.next[0] })}
      />
    </OperatorLayout>
  )
}

/** With up to four images each. */
const GENERATIONS_PER_PAGE = 24

const place = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER).optional().catch(undefined)
const query = z.object({
  image: z.string().max(500).catch(''),
  before: place,
  done: z.literal('removed').optional().catch(undefined),
  /** The address that the list of removed images had. */
  unfinished: z.literal('yes').optional().catch(undefined),
})

const params = z.object({ slug: z.string().regex(SLUG).catch('') })
const fields = z.object({ image: z.string().catch(''), reason })
/** What is shown again after a mistake. */
const typed = z
  .object({
    ...{ image: z.string().catch(''), reason: z.string().catch(''), before: place },
    /** On whose page the form was. */
    generation: z.string().regex(GENERATION_ID).optional().catch(undefined),
  })
  .catch({ image: '', reason: '' })

/** The slug in an image's address, of its page or of its file. */
const slugOf = (text: string) => /(?:^|\/)([0-9A-Za-z]{22})(?:\.[a-z]+)?\/?(?:[?#].*)?$/.exec(text.trim())?.[1] ?? ''

const NO_SUCH = 'There is no such image: give its address, or the last part of it.'

interface Shown {
  readonly before?: number | undefined
  readonly image: string
  readonly why?: string
  readonly done?: string | undefined
  readonly problem?: string
}

/** The newest images of all accounts, and removing one. */
export function imagesRoutes(app: App, { ports }: WebsiteOptions): void {
  const { recentImages, publishedImages } = ports

  async function show(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<unknown> {
    const { before, image } = shown
    const after = before === undefined ? undefined : [before]
    const slug = slugOf(image)
    const [list, chosen] = await Promise.all([
      recentImages.list({ limit: GENERATIONS_PER_PAGE, after }),
      slug ? publishedImages.find(slug) : undefined,
    ])
    const thumbnail = ({ slug, hasThumbnail }: RecentImage) =>
      hasThumbnail ? SERVER_URLS.thumbnailUrl(slug) : SERVER_URLS.url(slug)
    const picture = chosen && !chosen.removed ? SERVER_URLS.url(slug) : undefined
    const page = { signedIn: sessionOf(request), images: list, thumbnail, picture }
    return sendPage(reply, <ImagesPage {...page} {...shown} />)
  }

  app.get(PATH, { schema: { querystring: query } }, async (request, reply) => {
    const { unfinished, done, ...shown } = request.query
    if (unfinished) return reply.redirect(`${PATH}/removed?unfinished=yes`, 303)
    return show(request, reply, { ...shown, done: done && 'The image is removed.' })
  })

  app.get(`${PATH}/:slug`, { schema: { params } }, async (request, reply) => {
    const { slug } = request.params
    const id = slug ? await recentImages.generationOf(slug) : undefined
    if (!id) throw imageNotFound()
    return reply.redirect(`/operator/generations/${id}#image-${slug}`, 303)
  })

  app.post(PATH, async (request, reply) => {
    const { form, problem } = readForm(fields, request.body)
    const { image, reason: why, before, generation } = typed.parse(request.body ?? {})
    const refuse = (status: number, sentence: string) =>
      show(request, reply.code(status), { problem: sentence, image, why, before })
    if (!form) return refuse(400, problem ?? NO_SUCH)
    try {
      await takeDown(actingOf(ports, request, form.reason), slugOf(image))
    } catch (error) {
      // Rethrows what is no refusal.
      refusalMessage(error, reply)
      return refuse(404, NO_SUCH)
    }
    if (generation) return reply.redirect(`/operator/generations/${generation}?done=removed`, 303)
    return reply.redirect(before ? address(PATH, { before, done: 'removed' }) : `${PATH}/removed?done=removed`, 303)
  })
}
