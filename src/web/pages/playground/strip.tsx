import type { PastGeneration } from '../../../core/generations/history.js'
import { downloadUrl, urlsFor } from '../../parts/image-urls.js'
import { useTexts } from '../../texts/texts.js'
import type { ImageUrls } from './stage.js'

const MOST = 24

/** The results of the last hours, newest first: one press shows them on the stage again. */
export const Strip = ({ of: recent, urls }: { of: readonly PastGeneration[]; urls: ImageUrls }) => {
  const { strip: words, stage } = useTexts().playground
  const shown = recent
    .flatMap((generation) => generation.images.map((image) => ({ generation, image, its: urlsFor(urls, image) })))
    .slice(0, MOST)
  if (shown.length === 0) return null
  return (
    <>
      <h2 class="hidden-visually">{words.title}</h2>
      <ul class="strip">
        {shown.map(({ generation, its, image: { slug, width, height, hasThumbnail } }) => (
          <li>
            <a href={`/image/${slug}`} data-show={`/playground/${generation.id}/result`}>
              <img
                src={hasThumbnail ? its.thumbnailUrl(slug) : its.url(slug)}
                alt={generation.prompt || words.untitled}
                width={width}
                height={height}
                loading="lazy"
              />
            </a>
            <span class="row">
              <a href={`/playground?from=${slug}`} aria-label={stage.remix} title={stage.remix}>
                ↻
              </a>
              <a href={downloadUrl(slug)} download={`${slug}.png`} aria-label={stage.download} title={stage.download}>
                ↓
              </a>
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
