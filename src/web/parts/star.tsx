import type { OwnImage } from '../../core/gallery/gallery.js'
import { useTexts } from '../texts/texts.js'

/** The switch that makes an image one of the favourites; in a form whose field `back` leads back here. */
export const Star = ({ image: { slug, isFavourite } }: { image: Pick<OwnImage, 'slug' | 'isFavourite'> }) => {
  const path = `/image/${slug}/${isFavourite ? 'unfavourite' : 'favourite'}`
  return (
    <button
      class="star"
      type="submit"
      formaction={path}
      hx-post={path}
      hx-swap="outerHTML"
      aria-label={useTexts().parts.favourite}
      aria-pressed={isFavourite ? 'true' : 'false'}
    >
      {isFavourite ? '★' : '☆'}
    </button>
  )
}
