import type { ComponentChildren } from 'preact'
import type { PublishedImage } from '../generation/library/history.js'
import { page } from './page.js'

const LONG_DATE = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** The page of one image as HTML: image, model, seed and size, with Open Graph tags and without the prompt. */
export function imagePage(image: PublishedImage, imageUrl: string, pageUrl: string): string {
  const { modelName, width, height, seed, createdAt } = image
  const title = `Image made with ${modelName}`
  const description = `${width} × ${height} pixels, seed ${seed}. AI-generated with Easel.`
  return page(
    title,
    <>
      <meta name="description" content={description} />
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content="Easel" />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta property="og:url" content={pageUrl} />
      <meta property="og:image" content={imageUrl} />
      <meta property="og:image:type" content="image/png" />
      <meta property="og:image:width" content={String(width)} />
      <meta property="og:image:height" content={String(height)} />
      <meta property="og:image:alt" content={title} />
      <meta name="twitter:card" content="summary_large_image" />
      <link rel="canonical" href={pageUrl} />
    </>,
    <main>
      <a class="frame" href={imageUrl} style={`aspect-ratio: ${width} / ${height}`}>
        <img src={imageUrl} width={width} height={height} alt={title} />
      </a>
      <section>
        <h1>{modelName}</h1>
        <dl>
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
        <p class="note">This image is AI-generated.</p>
        <a class="button" href={imageUrl} download={`${image.slug}.png`}>
          Download PNG
        </a>
      </section>
    </main>,
  )
}

/** A page with one sentence: why there is no image. */
export const noticePage = (title: string, sentence: string): string =>
  page(
    title,
    null,
    <main class="notice">
      <section>
        <h1>{title}</h1>
        <p>{sentence}</p>
      </section>
    </main>,
  )
