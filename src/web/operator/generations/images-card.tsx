import type { ImageStore } from '../../../core/images/ports.js'
import type { GenerationRecord, RecordedImage } from '../../../core/operator/generation-story.js'
import { Act } from '../../parts/operator-forms.js'
import { Moment } from '../../parts/text.js'

export type Addresses = Pick<ImageStore, 'url' | 'thumbnailUrl'>

interface ImagesCardProps {
  readonly record: GenerationRecord
  readonly addresses: Addresses
}

/** A generation's images, each with the way to take it down. */
export const ImagesCard = ({ record: { generation, images }, addresses }: ImagesCardProps) => (
  <section class="card stack" aria-labelledby="images">
    <h2 id="images">Images</h2>
    <ul class="wall">
      {images.map((image) => (
        <li id={`image-${image.slug}`}>
          {image.removedAt ? (
            <Removed image={image} at={image.removedAt} />
          ) : (
            <>
              <a href={`/image/${image.slug}`}>
                <img
                  src={image.hasThumbnail ? addresses.thumbnailUrl(image.slug) : addresses.url(image.slug)}
                  alt={`Number ${image.idx + 1}, open its page`}
                  loading="lazy"
                />
              </a>
              <span class="small">
                {image.width} × {image.height}, seed <code>{image.seed}</code>
              </span>
              <Act
                id={`remove-${image.slug}`}
                action="/operator/images"
                name="Take down"
                button="Remove image"
                of={image.slug}
              >
                <input type="hidden" name="image" value={image.slug} />
                <input type="hidden" name="generation" value={generation.id} />
              </Act>
            </>
          )}
        </li>
      ))}
    </ul>
  </section>
)

const Removed = ({ image: { idx, removedReason }, at }: { image: RecordedImage; at: Date }) => (
  <p class="small">
    Number {idx + 1} was removed, <Moment at={at} />
    {removedReason && (
      <>
        : <bdi>{removedReason}</bdi>
      </>
    )}
  </p>
)
