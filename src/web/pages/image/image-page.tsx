import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { Neighbours, OwnImage } from '../../../core/generations/gallery.js'
import type { PublishedImage } from '../../../core/images/ports.js'
import { SLUG } from '../../../core/images/ports.js'
import { removeOwnImage } from '../../../core/images/takedown.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { NoticePage } from '../../parts/error-page.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Fact } from '../../parts/page-parts.js'
import { isFragment } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { NeighbourLinks, OwnActs, OwnExtras, OwnFacts, Prompt } from './owner-view.js'

const LONG_DATE = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })

interface ImagePageProps {
  readonly image: PublishedImage
  /** Undefined: who looks at it is not its owner. */
  readonly own: OwnImage | undefined
  readonly neighbours: Neighbours | undefined
  readonly imageUrl: string
  readonly pageUrl: string
  readonly baseUrl: string
  readonly signedIn: SignedIn | null
}

/** The page of one image: image, model, seed and size, with Open Graph tags; the prompt and its uses for its owner. */
function ImagePage({ image, own, neighbours, imageUrl, pageUrl, baseUrl, signedIn }: ImagePageProps) {
  const { modelName, width, height, seed, createdAt } = image
  const title = `Image made with ${modelName}`
  const description = `${width} × ${height} pixels, seed ${seed}. AI-generated with Easel.`
  const properties: Readonly<Record<string, string>> = {
    'og:type': 'website',
    'og:site_name': 'Easel',
    'og:title': title,
    'og:description': description,
    'og:url': pageUrl,
    'og:image': imageUrl,
    'og:image:type': 'image/png',
    'og:image:width': String(width),
    'og:image:height': String(height),
    'og:image:alt': title,
  }
  const head = (
    <>
      <meta name="description" content={description} />
      {Object.entries(properties).map(([property, content]) => (
        <meta property={property} content={content} />
      ))}
      <meta name="twitter:card" content="summary_large_image" />
      <link rel="canonical" href={pageUrl} />
    </>
  )
  return (
    <Layout
      title={title}
      signedIn={signedIn}
      path={own ? '/gallery' : '/image'}
      head={head}
      class="image"
      style="gallery.css"
      script={own && 'gallery.js'}
      live={own !== undefined}
    >
      {neighbours && <NeighbourLinks {...neighbours} />}
      <a class="frame" href={imageUrl} style={`aspect-ratio: ${width} / ${height}`}>
        <img src={imageUrl} width={width} height={height} alt={own?.prompt || title} />
      </a>
      <section class="card stack">
        {own ? <Prompt image={own} /> : <h1>{modelName}</h1>}
        <div class="row">
          {own && <OwnActs image={own} />}
          <a class="button" href={imageUrl} download={`${image.slug}.png`}>
            Download
          </a>
        </div>
        <div class="row copies">
          {own && (
            <button class="plain" type="button" data-copy="#prompt">
              Copy prompt
            </button>
          )}
          <button class="plain" type="button" data-copy="" data-text={pageUrl}>
            Copy link
          </button>
        </div>
        <dl class="facts">
          {own && (
            <Fact name="Model">
              <bdi>{modelName}</bdi>
            </Fact>
          )}
          <Fact name="Seed">
            <code>{seed}</code>
          </Fact>
          <Fact name="Size">
            {width} × {height}
          </Fact>
          {own && <OwnFacts image={own} />}
          <Fact name="Made">
            {/* Others need no more than the day. */}
            <time dateTime={createdAt.toISOString()} data-local={own ? 'time' : undefined}>
              {LONG_DATE.format(createdAt)}
            </time>
          </Fact>
        </dl>
        <p class="quiet small">This image is AI-generated.</p>
        {own && <OwnExtras image={own} baseUrl={baseUrl} />}
      </section>
    </Layout>
  )
}

/** The page of an image, for anyone who has its unguessable link; its owner sees how it was made. */
export function imagePageRoutes(app: App, { ports, baseUrl }: WebsiteOptions): void {
  app.get<{ Params: { slug: string } }>('/image/:slug', async (request, reply) => {
    const { slug } = request.params
    const image = SLUG.test(slug) ? await ports.publishedImages.find(slug) : undefined
    if (!image)
      return notice(request, reply, 404, 'No such image', 'There is no image at this address. Check the link.')
    if (image.removed)
      return notice(request, reply, 410, 'Image removed', 'This image was removed and is no longer available.')
    const { signedIn } = request
    const [own, neighbours] = signedIn ? await ownView(signedIn.caller.account.id, slug) : []
    const urls = { imageUrl: ports.images.url(slug), pageUrl: `${baseUrl}/image/${slug}`, baseUrl }
    return sendPage(reply, <ImagePage image={image} own={own} neighbours={neighbours} {...urls} signedIn={signedIn} />)
  })

  const ownView = (accountId: string, slug: string) =>
    Promise.all([ports.gallery.image(accountId, slug), ports.gallery.neighbours(accountId, slug)])
}

/** What an image's owner does with it. */
export function ownImageRoutes(app: App, { ports }: WebsiteOptions): void {
  app.post<{ Params: { slug: string } }>('/image/:slug/delete', async (request, reply) => {
    await removeOwnImage(ports, sessionOf(request).caller.account.id, request.params.slug)
    // In the gallery nothing takes the picture's place.
    if (isFragment(request)) return reply.type('text/html; charset=utf-8').send('')
    return reply.redirect('/gallery', 303)
  })
}

const notice = (request: FastifyRequest, reply: FastifyReply, status: number, heading: string, sentence: string) =>
  sendPage(
    reply.code(status),
    <NoticePage heading={heading} request={request}>
      {sentence}
    </NoticePage>,
  )
