import type { SignedIn } from '../../../core/accounts/session.js'
import type { Neighbours, OwnImage } from '../../../core/generations/history.js'
import type { PublishedImage } from '../../../core/images/published-image.js'
import { Layout } from '../../parts/layout.js'
import { Fact } from '../../parts/lists.js'
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
export function ImagePage({ image, own, neighbours, imageUrl, pageUrl, baseUrl, signedIn }: ImagePageProps) {
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
