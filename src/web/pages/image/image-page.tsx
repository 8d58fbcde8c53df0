import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { Folder } from '../../../core/gallery/folders.js'
import type { Neighbours, OwnImage } from '../../../core/gallery/gallery.js'
import { infotextOf } from '../../../core/gallery/infotext.js'
import { LINK_SECONDS } from '../../../core/images/image-links.js'
import { type PublishedImage, SLUG } from '../../../core/images/ports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { isShown, linkQueryOf, untilNothingIsTold } from '../../../http/shared/private-images.js'
import { NoticePage } from '../../parts/error-page.js'
import { downloadUrl, urlsFor } from '../../parts/image-urls.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Fact } from '../../parts/page-parts.js'
import { useSite } from '../../parts/site-context.js'
import { Star } from '../../parts/star.js'
import { address } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { viewerOf } from '../../shared/session-cookie.js'
import { type Texts, useTexts } from '../../texts/texts.js'
import { Downloads, FolderTicks, NeighbourLinks, OwnActs, OwnExtras, OwnFacts, Prompt } from './owner-view.js'
import { Privacy, type PrivacyView } from './privacy-view.js'
import { ReportDetails } from './report-form.js'

interface ImagePageProps {
  readonly image: PublishedImage
  /** Undefined: who looks at it is not its owner. */
  readonly own: OwnImage | undefined
  readonly neighbours: Neighbours | undefined
  /** The owner's, and the IDs of those that it is in. */
  readonly folders: readonly Folder[]
  readonly inFolders: readonly string[]
  readonly privacy: PrivacyView
  /** The name of the model's version, for its owner. */
  readonly version: string | undefined
  readonly imageUrl: string
  readonly downloadUrl: string
  readonly pageUrl: string
  readonly baseUrl: string
  readonly signedIn: SignedIn | null
  readonly signUpIsOpen: boolean
}

/** The page of one image: image, model, seed and size, with Open Graph tags; the prompt and its uses for its owner. */
function ImagePage({ image, own, neighbours, signedIn, privacy, ...props }: ImagePageProps) {
  const { folders, inFolders, imageUrl, downloadUrl, pageUrl, baseUrl, signUpIsOpen, version } = props
  const { modelName, width, height, seed, createdAt } = image
  const site = useSite()
  const words = useTexts().image
  const title = words.madeWith(modelName)
  const description = words.about(width, height, seed, site.name)
  const properties: Readonly<Record<string, string>> = {
    'og:type': 'website',
    'og:site_name': site.name,
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
      {/* Previews of links would be fetched and kept by others. */}
      {!image.isPrivate &&
        Object.entries(properties).map(([property, content]) => <meta property={property} content={content} />)}
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
      <a class="frame" href={imageUrl} style={`--width: ${width}px; --ratio: ${(width / height).toFixed(4)}`}>
        <img src={imageUrl} width={width} height={height} alt={own?.prompt || title} />
      </a>
      <section class="card stack">
        {own ? <Prompt image={own} /> : <h1>{modelName}</h1>}
        <div class="row">
          {own && <OwnActs image={own} />}
          {own ? (
            <Downloads image={own} />
          ) : (
            <a class="button" href={downloadUrl} download={`${image.slug}.png`}>
              {words.download}
            </a>
          )}
          {!signedIn && (
            <a class="button primary" href={signUpIsOpen ? '/sign-up' : '/playground'}>
              {words.makeYourOwn(<bdi>{site.name}</bdi>)}
            </a>
          )}
          {own && (
            <form class="starred" method="post" action={`/image/${image.slug}/favourite`}>
              <Star image={own} />
            </form>
          )}
        </div>
        <div class="row copies">
          {own && (
            <>
              {own.prompt !== '' && (
                <button class="plain" type="button" data-copy="#prompt" data-text={own.prompt}>
                  {words.copyPrompt}
                </button>
              )}
              <button class="plain" type="button" data-copy="" data-text={infotextOf(own)}>
                {words.copyParameters}
              </button>
            </>
          )}
          <button class="plain" type="button" data-copy="" data-text={pageUrl}>
            {words.copyLink}
          </button>
        </div>
        <dl class="facts">
          {own && (
            <Fact name={words.facts.model}>
              <bdi>{modelName}</bdi>
            </Fact>
          )}
          {version && (
            <Fact name={words.facts.version}>
              <bdi>{version}</bdi>
            </Fact>
          )}
          <Fact name={words.facts.seed}>
            <code>{seed}</code>
          </Fact>
          <Fact name={words.facts.size}>
            {width} × {height}
          </Fact>
          {own && <OwnFacts image={own} />}
          <Fact name={words.facts.made}>
            {/* Others need no more than the day. */}
            <time dateTime={createdAt.toISOString()} data-local={own ? 'time' : undefined}>
              {words.longDate(createdAt)}
            </time>
          </Fact>
        </dl>
        <p class="quiet small">{words.generated}</p>
        {own && <Privacy image={own} {...privacy} />}
        {own && folders.length > 0 && <FolderTicks image={own} folders={folders} ticked={inFolders} />}
        {own ? <OwnExtras image={own} baseUrl={baseUrl} /> : !image.isPrivate && <ReportDetails slug={image.slug} />}
      </section>
    </Layout>
  )
}

/** The page of an image, for anyone who has its unguessable link; its owner sees how it was made. */
export function imagePageRoutes(app: App, { ports, baseUrl, signUpIsOpen }: WebsiteOptions): void {
  const checks = { links: ports.links, viewerOf: async (request: FastifyRequest) => viewerOf(request) }

  app.get<{ Params: { slug: string } }>('/image/:slug', async (request, reply) => {
    const { slug } = request.params
    const words = request.texts.image
    const image = SLUG.test(slug) ? await ports.publishedImages.find(slug) : undefined
    if (!(await isShown(checks, request, image)) || !image) {
      if (SLUG.test(slug)) await untilNothingIsTold(request, reply)
      return notice(request, reply, 404, words.notFound)
    }
    if (image.removed) return notice(request, reply, 410, words.removed)
    const { signedIn } = request
    const [own, neighbours, folders = [], inFolders = []] = signedIn
      ? await ownView(signedIn.caller.account.id, slug)
      : []
    const version = own && (await ports.models.find(own.modelVersionId))?.name
    // Who has no other right to see it passes the link's on.
    const link = image.isPrivate && !own ? linkQueryOf(request) : {}
    const imageUrl = address(urlsFor(ports.images, image).url(slug), link)
    const pageUrl = baseUrl + address(`/image/${slug}`, link)
    const urls = { imageUrl, downloadUrl: downloadUrl(slug, link), pageUrl, baseUrl, signUpIsOpen }
    const privacy = own?.isPrivate
      ? { isMoving: await ports.privacy.isMoving(slug), ...(await linkTo(image, linkQuery.parse(request.query))) }
      : { isMoving: false }
    return sendPage(
      reply,
      <ImagePage {...{ image, own, neighbours, folders, inFolders, signedIn, privacy, version }} {...urls} />,
    )
  })

  const linkTo = async (
    image: PublishedImage,
    { link, revoked }: z.output<typeof linkQuery>,
  ): Promise<Omit<PrivacyView, 'isMoving'>> => {
    if (!link) return { areRevoked: revoked !== undefined }
    const expiresAt = new Date(Date.now() + LINK_SECONDS[link] * 1000)
    const signed = await ports.links.sign(image, expiresAt)
    return { link: { url: baseUrl + address(`/image/${image.slug}`, { ...signed }), expiresAt } }
  }

  const ownView = (accountId: string, slug: string) =>
    Promise.all([
      ports.gallery.image(accountId, slug),
      ports.gallery.neighbours(accountId, slug),
      ports.folders.list(accountId),
      ports.folders.of(accountId, slug),
    ])
}

/** Asks for a link to a private image, or follows the end of all. */
const linkQuery = z.object({
  link: z.enum(['hour', 'day', 'week', 'month']).optional().catch(undefined),
  revoked: z.literal('').optional().catch(undefined),
})

const notice = (
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { title, why }: Texts['image']['removed'],
) =>
  sendPage(
    reply.code(status),
    <NoticePage heading={title} request={request}>
      {why}
    </NoticePage>,
  )
