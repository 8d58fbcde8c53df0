import type { Folder } from '../../../core/gallery/folders.js'
import type { Neighbours, OwnImage } from '../../../core/gallery/gallery.js'
import { samplerName } from '../../../core/generations/generation.js'
import { Fact, ShortcutHelp } from '../../parts/page-parts.js'
import { samplesOf } from '../../parts/samples.js'
import { useTexts } from '../../texts/texts.js'

/** From here on a prompt is set as text rather than as a heading. */
const LONG_PROMPT = 160

/** The prompt, which only its owner sees. */
export const Prompt = ({ image: { prompt, negativePrompt } }: { image: OwnImage }) => {
  const words = useTexts().image
  const isLong = prompt.length > LONG_PROMPT
  return (
    <>
      <h1 id="prompt" class={isLong ? 'prompt long' : 'prompt'} dir="auto" tabindex={isLong ? 0 : undefined}>
        {prompt || words.untitled}
      </h1>
      {/* Nobody can submit an empty one. */}
      {prompt === '' && <p class="quiet small">{words.promptGone}</p>}
      {negativePrompt !== '' && (
        <p class="negative quiet small">
          {words.without} <bdi>{negativePrompt}</bdi>
        </p>
      )}
    </>
  )
}

export const OwnFacts = ({ image }: { image: OwnImage }) => {
  const words = useTexts().image.facts
  return (
    <>
      <Fact name={words.sampler}>{samplerName(image.sampler)}</Fact>
      <Fact name={words.steps}>{image.steps}</Fact>
      <Fact name={words.guidance}>{image.cfgScale}</Fact>
      <Fact name={words.source}>{words.sources[image.madeOn === 'website' ? 'website' : 'api']}</Fact>
    </>
  )
}

export const OwnActs = ({ image: { slug } }: { image: OwnImage }) => {
  const words = useTexts().image
  return (
    <>
      <a class="button primary" href={`/playground?from=${slug}`} data-remix>
        {words.remix}
      </a>
      <a class="button" href={`/playground?from=${slug}&seed=1`}>
        {words.sameSeed}
      </a>
    </>
  )
}

/** The file, named after its prompt, in the form that one wants. */
export const Downloads = ({ image: { slug } }: { image: OwnImage }) => {
  const words = useTexts().image
  return (
    <details class="drop-down downloads">
      <summary class="button">{words.download}</summary>
      <div class="card stack">
        {DOWNLOADS.map((as) => (
          <a href={`/image/${slug}/download?as=${as}`} download="" data-download={as}>
            {words.downloads[as]}
          </a>
        ))}
      </div>
    </details>
  )
}

const DOWNLOADS = ['parameters', 'png', 'webp'] as const

interface FolderTicksProps {
  readonly image: OwnImage
  readonly folders: readonly Folder[]
  readonly ticked: readonly string[]
}

/** The folders that the image is in, and the others. */
export const FolderTicks = ({ image: { slug }, folders, ticked }: FolderTicksProps) => {
  const words = useTexts().image
  return (
    <details>
      <summary>
        {folders
          .filter(({ id }) => ticked.includes(id))
          .map(({ name }) => name)
          .join(', ') || words.inNoFolder}
      </summary>
      <form class="stack folder-ticks" method="post" action={`/image/${slug}/folders`}>
        <div>
          {folders.map(({ id, name }) => (
            <label class="row" dir="auto">
              <input type="checkbox" name="folder" value={id} checked={ticked.includes(id)} /> {name}
            </label>
          ))}
        </div>
        <button class="small" type="submit">
          {words.save}
        </button>
      </form>
    </details>
  )
}

export const OwnExtras = ({ image, baseUrl }: { image: OwnImage; baseUrl: string }) => {
  const words = useTexts().image
  return (
    <>
      <details>
        <summary>{words.withApi}</summary>
        <pre id="curl" tabindex={0}>
          {curlOf(image, baseUrl)}
        </pre>
        <button class="small" type="button" data-copy="#curl">
          {words.copyCurl}
        </button>
      </details>
      <form method="post" action={`/image/${image.slug}/delete`}>
        <button class="plain danger" type="submit">
          {words.remove}
        </button>
      </form>
    </>
  )
}

/** The same image: its own seed, alone. */
function curlOf(image: OwnImage, baseUrl: string): string {
  const body = {
    prompt: image.prompt,
    ...(image.negativePrompt !== '' && { negative_prompt: image.negativePrompt }),
    model_version_id: image.modelVersionId,
    width: image.askedWidth,
    height: image.askedHeight,
    steps: image.steps,
    cfg_scale: image.cfgScale,
    sampler: image.sampler,
    seed: image.seed,
  }
  return samplesOf({ method: 'POST', url: `${baseUrl}/api/v1/generate`, body, contentType: 'application/json' }).curl
}

/** To the images before and after it in the gallery, and back there. */
export const NeighbourLinks = ({ newer, older }: Neighbours) => {
  const {
    image,
    image: { neighbours: words },
  } = useTexts()
  return (
    <nav class="neighbours row apart" aria-label={words.label}>
      <span class="row">
        {newer && (
          <a class="button small" rel="prev" href={`/image/${newer}`}>
            <span aria-hidden="true">←</span> {words.newer}
          </a>
        )}
        {older && (
          <a class="button small" rel="next" href={`/image/${older}`}>
            {words.older} <span aria-hidden="true">→</span>
          </a>
        )}
      </span>
      <ShortcutHelp
        keys={[
          [['J', '→'], words.olderImage],
          [['K', '←'], words.newerImage],
          [['D'], image.download],
          [['R'], words.remix],
          [['F'], words.favourite],
        ]}
      />
    </nav>
  )
}
