import type { ComponentChildren } from 'preact'
import type { SignedIn } from '../../account/session.js'
import type { PublishedImage } from '../../generation/library/history.js'
import { Layout } from '../layout.js'

const LONG_DATE = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

interface ImagePageProps {
  readonly image: PublishedImage
  readonly imageUrl: string
  readonly pageUrl: string
  readonly signedIn: SignedIn | null
}

/** The page of one image: image, model, seed and size, with Open Graph tags and without the prompt. */
export function ImagePage({ image, imageUrl, pageUrl, signedIn }: ImagePageProps) {
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
    <Layout title={title} signedIn={signedIn} path="/image" head={head} class="image">
      <a class="frame" href={imageUrl} style={`aspect-ratio: ${width} / ${height}`}>
        <img src={imageUrl} width={width} height={height} alt={title} />
      </a>
      <section class="card">
        <h1>{modelName}</h1>
        <dl class="facts">
          <Fact name="Seed">
            <code>{seed}</code>
          </Fact>
          <Fact name="Size">
            {width} × {height}
          </Fact>
          <Fact name="Made">
            <time dateTime={createdAt.toISOString()}>{LONG_DATE.format(createdAt)}</time>
          </Fact>
        </dl>
        <p class="quiet">This image is AI-generated.</p>
        <a class="button" href={imageUrl} download={`${image.slug}.png`}>
          Download PNG
        </a>
      </section>
    </Layout>
  )
}
