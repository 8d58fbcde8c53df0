import { type ComponentChildren, h } from 'preact'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import type { Polled } from '../../../core/generations/follow/poll.js'
import type { PastGeneration } from '../../../core/generations/history.js'
import type { ImageStore } from '../../../core/images/ports.js'
import { downloadUrl, urlsFor } from '../../parts/image-urls.js'
import { inWords } from '../../texts/refusals.js'
import { type Texts, useTexts } from '../../texts/texts.js'
import { type Held, HoldNotice } from './hold.js'

/** Where an element of the page goes that is not the one that was asked for. */
export const Partial = ({ of: target, morph, children }: PartialProps) =>
  h('hx-partial', { 'hx-target': target, 'hx-swap': morph ? 'innerMorph' : 'innerHTML' }, children)

interface PartialProps {
  /** A selector. */
  readonly of: string
  /** Keeps what has not changed, and the focus. */
  readonly morph?: boolean
  readonly children?: ComponentChildren
}

/** An active generation, as it is now. */
export interface Active {
  readonly generation: PastGeneration
  readonly now: Polled
  /** Seconds until it ends, where that can be told. */
  readonly eta: number | undefined
  /** Why it does not start for now. */
  readonly hold: Held | undefined
}

export type ImageUrls = Pick<ImageStore, 'url' | 'thumbnailUrl'>

const ratioOf = ({ width, height }: Pick<PastGeneration, 'width' | 'height'>) =>
  `--ratio: ${width / height}; aspect-ratio: ${width} / ${height}`

/** Filled by the stream of events until the generation ends. */
export const ActiveStage = ({ active }: { active: Active }) => (
  <div
    id="job"
    class="job"
    hx-sse:connect={`/playground/${active.generation.id}/events`}
    hx-sse:close="close"
    hx-target="#problem"
  >
    <ActiveState active={active} />
  </div>
)

/** What the stream replaces whenever the status or the place changes. */
export const ActiveState = ({ active: { generation, now, eta, hold } }: { active: Active }) => {
  const words = useTexts().playground.stage
  return (
    <>
      <div id="preview" class="frames" data-count={generation.batchSize} aria-hidden="true">
        <Blanks of={generation} />
      </div>
      <div class="row apart">
        <h2>{now.status === 'queued' ? <Waiting place={now.queuePosition} hold={hold} /> : words.drawing}</h2>
        <form
          method="post"
          action={`/playground/${generation.id}/cancel`}
          hx-post={`/playground/${generation.id}/cancel`}
          hx-target="#problem"
        >
          <button class="small" type="submit">
            {words.cancel}
          </button>
        </form>
      </div>
      <div id="progress">{hold ? <HoldNotice of={hold} /> : <ProgressBar now={now} eta={eta} />}</div>
      <p class="quiet small">{words.leave}</p>
    </>
  )
}

const Waiting = ({ place, hold }: { place: number; hold: Held | undefined }) => {
  const words = useTexts().playground.stage
  return (
    <>
      {words.place(place)}
      {hold && words.onHold}
    </>
  )
}

const Blanks = ({ of: generation, from = 0 }: { of: PastGeneration; from?: number }) => (
  <>
    {Array.from({ length: generation.batchSize - from }, () => (
      <span class="blank" style={ratioOf(generation)} />
    ))}
  </>
)

/** Not announced: a screen reader would read every percent. */
export const ProgressBar = ({ now, eta }: Pick<Active, 'now' | 'eta'>) => {
  const words = useTexts().playground.stage
  const share = now.status === 'processing' ? now.progress : undefined
  return (
    <>
      <progress aria-label={words.progress} {...(share === undefined ? {} : { value: share, max: 1 })} />
      <span class="row apart small quiet" aria-hidden="true">
        <span>{share === undefined ? '' : `${Math.round(share * 100)} %`}</span>
        <span>{eta === undefined ? '' : words.left(eta)}</span>
      </span>
    </>
  )
}

/** What is drawn so far, in the first frame. */
export const Preview = ({ of: generation, image }: { of: PastGeneration; image: string }) => (
  <>
    <img src={image} alt="" style={ratioOf(generation)} />
    <Blanks of={generation} from={1} />
  </>
)

/** How it ended: the images, or why there are none and what was given back. */
export const EndedStage = ({ of: generation, urls }: { of: PastGeneration; urls: ImageUrls }) => {
  const texts = useTexts()
  const words = texts.playground.stage
  return generation.status === 'succeeded' ? (
    <div class="job">
      {generation.images.length > 0 && (
        <div class="frames" data-count={generation.images.length}>
          {generation.images.map((image) => (
            <Picture of={generation} image={image} urls={urlsFor(urls, image)} />
          ))}
        </div>
      )}
      <div class="row apart">
        <span>
          <b>{generation.images.length > 0 ? words.done(secondsOf(generation)) : words.removed}</b> ·{' '}
          <bdi>{generation.modelName}</bdi> · {sizeText(generation)}
        </span>
        <a href="/gallery">{words.all}</a>
      </div>
    </div>
  ) : (
    <div class="empty">
      <h2>{generation.error === CANCELED ? words.canceled : words.none}</h2>
      {generation.error && generation.error !== CANCELED && <p>{inWords(generation.error, texts)}</p>}
      <p>{refundText(generation, texts)}</p>
    </div>
  )
}

interface ResultProps {
  readonly of: PastGeneration
  /** What succeeded of late, newest first. */
  readonly recent: readonly PastGeneration[]
  readonly urls: ImageUrls
}

/** What stands on the stage after an end: after a cancellation, the result before it. */
export const Result = ({ of: generation, recent: [before], urls }: ResultProps) => {
  const texts = useTexts()
  return generation.error === CANCELED && before ? (
    <>
      <p class="done">
        {texts.playground.stage.canceled}. {refundText(generation, texts)}
      </p>
      <EndedStage of={before} urls={urls} />
    </>
  ) : (
    <EndedStage of={generation} urls={urls} />
  )
}

/** Of its images; once they are removed, the one that was asked for. */
const sizeText = ({ images: [image], ...generation }: PastGeneration) => {
  const { width, height } = image ?? generation
  return `${width} × ${height}`
}

const secondsOf = ({ startedAt, finishedAt }: PastGeneration) =>
  startedAt && finishedAt ? Math.max(0.1, (+finishedAt - +startedAt) / 1000) : undefined

const refundText = ({ refunded }: PastGeneration, { playground: { stage } }: Texts) =>
  refunded === 0 ? stage.notCharged : stage.refunded(refunded)

interface PictureProps {
  readonly of: PastGeneration
  readonly image: PastGeneration['images'][number]
  readonly urls: ImageUrls
}

const Picture = ({ of: generation, image: { slug, seed, width, height, hasThumbnail }, urls }: PictureProps) => {
  const words = useTexts().playground.stage
  return (
    <figure style={ratioOf(generation).split(';')[0]}>
      <a href={`/image/${slug}`} data-large={urls.url(slug)}>
        <img
          src={urls.url(slug)}
          // Several stand side by side, each about as large as its thumbnail.
          srcset={
            hasThumbnail && generation.images.length > 1
              ? `${urls.thumbnailUrl(slug)} 1x, ${urls.url(slug)} 1.5x`
              : undefined
          }
          alt={generation.prompt}
          width={width}
          height={height}
        />
      </a>
      <figcaption>
        <a class="seed" href={`/playground?from=${slug}&seed=1`} data-seed={seed} title={words.seedAgain}>
          <span class="hidden-visually">{words.use} </span>
          {words.seed(seed)}
        </a>
        <span class="row">
          <a href={`/playground?from=${slug}`}>{words.remix}</a>
          <a href={downloadUrl(slug)} download={`${slug}.png`}>
            {words.download}
          </a>
        </span>
      </figcaption>
    </figure>
  )
}

export const EXAMPLES = [
  'A lighthouse keeper reading by storm light, oil on canvas',
  'A mountain lake at sunrise, mist over the water, soft watercolor',
  'A lone tree on a hill under the northern lights, wide view',
] as const

/** Before the first image, and after a break. */
export const EmptyStage = ({ returning }: { returning: boolean }) => {
  const words = useTexts().playground.stage
  return (
    <div class="empty">
      <h2>{returning ? words.free : words.nothing}</h2>
      <p>{words.begin}</p>
      <ul class="examples">
        {EXAMPLES.map((prompt) => (
          <li>
            <a href={`/playground?prompt=${encodeURIComponent(prompt)}`} data-prompt={prompt}>
              {prompt}
            </a>
          </li>
        ))}
      </ul>
      {returning && <a href="/gallery">{words.all}</a>}
    </div>
  )
}
