import type { OwnImage } from '../../../core/gallery/gallery.js'
import type { LINK_SECONDS } from '../../../core/images/image-links.js'
import { Moment } from '../../parts/text.js'

export interface PrivacyView {
  /** Whether its files are still on their way. */
  readonly isMoving: boolean
  /** The link that was asked for just now. */
  readonly link: { readonly url: string; readonly expiresAt: Date } | undefined
}

export type LinkTime = keyof typeof LINK_SECONDS

const TIMES: Readonly<Record<LinkTime, string>> = {
  hour: 'for an hour',
  day: 'for a day',
  week: 'for 7 days',
  month: 'for 30 days',
}

/** Who can see the image, and what its owner can change about that. */
export const Privacy = ({ image: { slug, isPrivate }, isMoving, link }: PrivacyView & { readonly image: OwnImage }) => (
  <div id="privacy" class="privacy stack">
    <form class="row" method="post" action={`/image/${slug}/privacy`}>
      <input type="hidden" name="private" value={isPrivate ? '' : '1'} />
      <span id="public-page">Public page</span>
      <button
        class="small"
        type="submit"
        role="switch"
        aria-checked={isPrivate ? 'false' : 'true'}
        aria-labelledby="public-page"
        aria-describedby="who-sees"
      >
        {isPrivate ? 'Off' : 'On'}
      </button>
    </form>
    <p id="who-sees" class="quiet small">
      {isPrivate
        ? 'Only you and the operators of this site can see the image, and who opens a link that you make here.'
        : 'Whoever has the link of this page can see the image; its prompt and parameters, only you.'}
      {isPrivate && isMoving && ' Its file is still being taken from its public address.'}
    </p>
    {isPrivate && (
      <form class="row" method="get" action={`/image/${slug}`}>
        <select name="link" aria-label="How long the link works">
          {Object.entries(TIMES).map(([time, words]) => (
            <option value={time}>{words}</option>
          ))}
        </select>
        <button class="small" type="submit">
          Make a link
        </button>
      </form>
    )}
    {link && (
      <div class="stack">
        <p class="small">
          Whoever has this link sees the image until <Moment at={link.expiresAt} />. It cannot be taken back before.
        </p>
        <pre id="signed-link" tabindex={0}>
          {link.url}
        </pre>
        <button class="small" type="button" data-copy="#signed-link">
          Copy this link
        </button>
      </div>
    )}
  </div>
)
