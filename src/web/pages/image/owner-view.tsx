import type { Folder } from '../../../core/gallery/folders.js'
import type { Neighbours, OwnImage } from '../../../core/gallery/gallery.js'
import { samplerName } from '../../../core/generations/generation.js'
import { Fact, ShortcutHelp } from '../../parts/page-parts.js'
import { samplesOf } from '../../parts/samples.js'

/** From here on a prompt is set as text rather than as a heading. */
const LONG_PROMPT = 160

/** The prompt, which only its owner sees. */
export const Prompt = ({ image: { prompt, negativePrompt } }: { image: OwnImage }) => {
  const isLong = prompt.length > LONG_PROMPT
  return (
    <>
      <h1 id="prompt" class={isLong ? 'prompt long' : 'prompt'} dir="auto" tabindex={isLong ? 0 : undefined}>
        {prompt || 'Untitled'}
      </h1>
      {negativePrompt !== '' && (
        <p class="negative quiet small">
          Without: <bdi>{negativePrompt}</bdi>
        </p>
      )}
    </>
  )
}

export const OwnFacts = ({ image }: { image: OwnImage }) => (
  <>
    <Fact name="Sampler">{samplerName(image.sampler)}</Fact>
    <Fact name="Steps">{image.steps}</Fact>
    <Fact name="Guidance (CFG)">{image.cfgScale}</Fact>
    <Fact name="Source">{image.madeOn === 'website' ? 'Website' : 'API'}</Fact>
  </>
)

export const OwnActs = ({ image: { slug } }: { image: OwnImage }) => (
  <>
    <a class="button primary" href={`/playground?from=${slug}`} data-remix>
      Remix
    </a>
    <a class="button" href={`/playground?from=${slug}&seed=1`}>
      Same seed
    </a>
  </>
)

/** The file, named after its prompt, in the form that one wants. */
export const Downloads = ({ image: { slug } }: { image: OwnImage }) => (
  <details class="drop-down downloads">
    <summary class="button">Download</summary>
    <div class="card stack">
      {DOWNLOADS.map(([as, name]) => (
        <a href={`/image/${slug}/download?as=${as}`} download="" data-download={as}>
          {name}
        </a>
      ))}
    </div>
  </details>
)

const DOWNLOADS = [
  ['parameters', 'PNG with its parameters'],
  ['png', 'PNG without them'],
  ['webp', 'WebP, smaller'],
] as const

interface FolderTicksProps {
  readonly image: OwnImage
  readonly folders: readonly Folder[]
  readonly ticked: readonly string[]
}

/** The folders that the image is in, and the others. */
export const FolderTicks = ({ image: { slug }, folders, ticked }: FolderTicksProps) => (
  <details>
    <summary>
      {folders
        .filter(({ id }) => ticked.includes(id))
        .map(({ name }) => name)
        .join(', ') || 'In no folder'}
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
        Save
      </button>
    </form>
  </details>
)

export const OwnExtras = ({ image, baseUrl }: { image: OwnImage; baseUrl: string }) => (
  <>
    <details>
      <summary>Make it with the API</summary>
      <pre id="curl" tabindex={0}>
        {curlOf(image, baseUrl)}
      </pre>
      <button class="small" type="button" data-copy="#curl">
        Copy curl
      </button>
    </details>
    <form method="post" action={`/image/${image.slug}/delete`}>
      <button class="plain danger" type="submit">
        Delete
      </button>
    </form>
  </>
)

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
export const NeighbourLinks = ({ newer, older }: Neighbours) => (
  <nav class="neighbours row apart" aria-label="Gallery">
    <span class="row">
      {newer && (
        <a class="button small" rel="prev" href={`/image/${newer}`}>
          <span aria-hidden="true">←</span> Newer
        </a>
      )}
      {older && (
        <a class="button small" rel="next" href={`/image/${older}`}>
          Older <span aria-hidden="true">→</span>
        </a>
      )}
    </span>
    <ShortcutHelp
      keys={[
        [['J', '→'], 'Older image'],
        [['K', '←'], 'Newer image'],
        [['D'], 'Download'],
        [['R'], 'Remix: everything but the seed'],
        [['F'], 'Make it a favourite'],
      ]}
    />
  </nav>
)
