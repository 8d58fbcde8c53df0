import type { OwnImage } from '../../../core/gallery/gallery.js'
import type { ImageStore } from '../../../core/images/ports.js'
import { downloadUrl, urlsFor } from '../../parts/image-urls.js'
import { Star } from '../../parts/star.js'
import { useTexts } from '../../texts/texts.js'
import { type GalleryFilter, isFiltered } from './filters.js'

export interface Picture {
  readonly image: OwnImage
  /** The whole image's address. */
  readonly file: string
  /** The address of its small version, if it has one. */
  readonly thumbnail: string | undefined
}

export const pictureOf =
  (images: Pick<ImageStore, 'url' | 'thumbnailUrl'>) =>
  (image: OwnImage): Picture => ({
    image,
    file: urlsFor(images, image).url(image.slug),
    thumbnail: image.hasThumbnail ? urlsFor(images, image).thumbnailUrl(image.slug) : undefined,
  })

export interface FoundProps {
  readonly filter: GalleryFilter
  readonly pictures: readonly Picture[]
  /** Whether others come before them. */
  readonly isContinued: boolean
  /** Where those that come after them are. */
  readonly next: string | undefined
}

/** What #found holds. */
export const Found = (found: FoundProps) => {
  const { nothing } = useTexts().gallery
  if (found.pictures.length > 0 || found.next)
    return (
      <ul class="pictures">
        <Pictures {...found} />
      </ul>
    )
  if (isFiltered(found.filter))
    return (
      <div class="empty card">
        <h2>{nothing.found}</h2>
        <p>{nothing.foundWhy}</p>
        <a class="button" href="/gallery">
          {nothing.showAll}
        </a>
      </div>
    )
  if (found.filter.folder)
    return (
      <div class="empty card">
        <h2>{nothing.inFolder}</h2>
        <p>{nothing.inFolderWhy}</p>
        <a class="button" href="/gallery">
          {nothing.showAll}
        </a>
      </div>
    )
  return (
    <div class="empty card">
      <h2>{nothing.made}</h2>
      <p>{nothing.madeWhy}</p>
      <a class="button primary" href="/playground">
        {nothing.makeFirst}
      </a>
    </div>
  )
}

/** A page of pictures, and at its end what loads the next page when it is scrolled to. */
export const Pictures = ({ pictures, next, isContinued, filter }: FoundProps) => {
  const { gallery: words } = useTexts()
  return (
    <>
      {pictures.map((picture) => (
        <PictureItem {...picture} />
      ))}
      {next && (
        <li class="more" hx-get={next} hx-trigger="revealed" hx-swap="outerHTML">
          <a class="button small" href={next}>
            {pictures.length > 0 ? words.more : words.searchOlder}
          </a>
        </li>
      )}
      {!next && isContinued && <li class="end quiet small">{isFiltered(filter) ? words.noMore : words.end}</li>}
    </>
  )
}

/** Of a thumbnail, on its longer side. */
const THUMBNAIL = 512
/** A small row's height, as CSS pixels: on a sharp screen the thumbnail still does. */
const ROW = 256

const PictureItem = ({ image, file, thumbnail }: Picture) => {
  const { slug, prompt, width, height, madeOn, isPrivate } = image
  const ratio = width / height
  const { gallery: words } = useTexts()
  const small = Math.min(width, Math.round(THUMBNAIL * Math.min(1, ratio)))
  const sharp = thumbnail && {
    srcset: `${thumbnail} ${small}w, ${file} ${width}w`,
    sizes: `${Math.round(ROW * ratio)}px`,
  }
  return (
    <li class="picture" id={`i-${slug}`} style={`--ratio: ${ratio.toFixed(4)}`}>
      <a href={`/image/${slug}`} data-file={downloadUrl(slug)}>
        <img src={thumbnail ?? file} {...sharp} width={width} height={height} alt="" loading="lazy" decoding="async" />
        <span class="caption" dir="auto">
          {shortened(prompt) || words.untitled}
        </span>
      </a>
      <input type="checkbox" name="slug" value={slug} aria-label={words.select} />
      <Star image={image} />
      {(isPrivate || madeOn === 'api') && <span class="badge">{isPrivate ? words.private : 'API'}</span>}
    </li>
  )
}

/** So that a page of the longest prompts stays light. The image's own page has all of it. */
const MAX_NAME = 100

const shortened = (prompt: string): string =>
  prompt.length <= MAX_NAME ? prompt : `${prompt.slice(0, MAX_NAME - 1).replace(/\p{Cs}$/u, '')}…`
