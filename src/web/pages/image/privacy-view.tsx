import type { OwnImage } from '../../../core/gallery/gallery.js'
import type { LINK_SECONDS } from '../../../core/images/image-links.js'
import { Moment } from '../../parts/text.js'
import { useTexts } from '../../texts/texts.js'

export interface PrivacyView {
  /** Whether its files are still on their way. */
  readonly isMoving: boolean
  /** The link that was asked for just now. */
  readonly link?: { readonly url: string; readonly expiresAt: Date }
  /** All links were taken back just now. */
  readonly areRevoked?: boolean
}

export type LinkTime = keyof typeof LINK_SECONDS

/** Who can see the image, and what its owner can change about that. */
export const Privacy = ({ image, isMoving, link, areRevoked }: PrivacyView & { readonly image: OwnImage }) => {
  const { slug, isPrivate } = image
  const words = useTexts().image.privacy
  return (
    <div id="privacy" class="privacy stack">
      <form class="row" method="post" action={`/image/${slug}/privacy`}>
        <input type="hidden" name="private" value={isPrivate ? '' : '1'} />
        <span id="public-page">{words.page}</span>
        <button
          class="small"
          type="submit"
          role="switch"
          aria-checked={isPrivate ? 'false' : 'true'}
          aria-labelledby="public-page"
          aria-describedby="who-sees"
        >
          {isPrivate ? words.off : words.on}
        </button>
      </form>
      <p id="who-sees" class="quiet small">
        {isPrivate ? words.private : words.public}
        {isPrivate && isMoving && ` ${words.moving}`}
      </p>
      {isPrivate && (
        <form class="row" method="get" action={`/image/${slug}`}>
          <select name="link" aria-label={words.howLong}>
            {Object.entries(words.times).map(([time, name]) => (
              <option value={time}>{name}</option>
            ))}
          </select>
          <button class="small" type="submit">
            {words.make}
          </button>
        </form>
      )}
      {isPrivate && (
        <form class="row" method="post" action={`/image/${slug}/revoke-links`}>
          <button class="small" type="submit" aria-describedby="revoking">
            {words.revoke}
          </button>
          <span id="revoking" class="quiet small" role={areRevoked ? 'status' : undefined}>
            {areRevoked ? words.revoked : words.revoking}
          </span>
        </form>
      )}
      {link && (
        <div class="stack">
          <p class="small">{words.until(<Moment at={link.expiresAt} />)}</p>
          <pre id="signed-link" tabindex={0}>
            {link.url}
          </pre>
          <button class="small" type="button" data-copy="#signed-link">
            {words.copy}
          </button>
        </div>
      )}
    </div>
  )
}
