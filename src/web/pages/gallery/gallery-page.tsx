import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { MadeOn, OwnImage } from '../../../core/generations/gallery.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { cursorOf, page } from '../../../http/shared/fields.js'
import { Layout, sendFragment, sendPage } from '../../parts/layout.js'
import { ShortcutHelp } from '../../parts/page-parts.js'
import { address } from '../../parts/text.js'
import { isFragment } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'

interface GalleryFilter extends Readonly<Record<string, string | number | undefined>> {
  /** Empty: all prompts. */
  readonly q: string
  readonly model: number | undefined
  readonly made: MadeOn | undefined
}

interface Picture {
  readonly image: OwnImage
  /** The whole image's address. */
  readonly file: string
  /** The address of what the gallery shows of it. */
  readonly preview: string
}

interface FoundProps {
  readonly filter: GalleryFilter
  readonly pictures: readonly Picture[]
  /** Whether others come before them. */
  readonly isContinued: boolean
  /** Where those that come after them are. */
  readonly next: string | undefined
}

const isFiltered = ({ q, model, made }: GalleryFilter) => q !== '' || model !== undefined || made !== undefined

interface GalleryPageProps {
  readonly signedIn: SignedIn
  readonly models: readonly ModelVersion[]
  readonly found: FoundProps
}

/** An account's own images, newest first. */
const GalleryPage = ({ signedIn, models, found }: GalleryPageProps) => (
  <Layout
    title="Gallery"
    signedIn={signedIn}
    path="/gallery"
    class="gallery"
    style="gallery.css"
    script="gallery.js"
    live
  >
    <div class="row apart">
      <h1>Gallery</h1>
      <ShortcutHelp
        keys={[
          [['J', '→'], 'Next image'],
          [['K', '←'], 'Previous image'],
          [['Enter'], 'Open it'],
          [['D'], 'Download it'],
          [['R'], 'Remix it: everything but the seed'],
        ]}
      />
    </div>
    <Filters filter={found.filter} models={models} />
    <p id="outcome" role="status" />
    <div id="found">
      <Found {...found} />
    </div>
  </Layout>
)

const Filters = ({ filter, models }: { filter: GalleryFilter; models: readonly ModelVersion[] }) => (
  <search>
    <form
      class="filters"
      action="/gallery"
      hx-get="/gallery"
      hx-trigger="input delay:250ms, submit"
      hx-target="#found"
      hx-sync="this:replace"
    >
      <input
        type="search"
        name="q"
        value={filter.q}
        placeholder="Search prompts"
        aria-label="Search prompts"
        maxlength={200}
        autocomplete="off"
      />
      <select name="model" aria-label="Model">
        <option value="">All models</option>
        {models.map(({ id, modelName, name }) => (
          <option value={id} selected={id === filter.model}>
            {`${modelName} ${name}`}
          </option>
        ))}
      </select>
      <select name="made" aria-label="Made with">
        <option value="">Website and API</option>
        <option value="website" selected={filter.made === 'website'}>
          Website only
        </option>
        <option value="api" selected={filter.made === 'api'}>
          API only
        </option>
      </select>
      <noscript>
        <button type="submit">Search</button>
      </noscript>
    </form>
  </search>
)

/** What #found holds. */
const Found = (found: FoundProps) => {
  if (found.pictures.length > 0 || found.next)
    return (
      <ul class="pictures">
        <Pictures {...found} />
      </ul>
    )
  if (isFiltered(found.filter))
    return (
      <div class="empty card">
        <h2>Nothing found</h2>
        <p>No image of yours matches. Search for fewer words, or look at all of them.</p>
        <a class="button" href="/gallery">
          Show all images
        </a>
      </div>
    )
  return (
    <div class="empty card">
      <h2>No images yet</h2>
      <p>What you make, here or with the API, is kept in this gallery.</p>
      <a class="button primary" href="/playground">
        Make your first image
      </a>
    </div>
  )
}

/** A page of pictures, and at its end what loads the next page when it is scrolled to. */
const Pictures = ({ pictures, next, isContinued, filter }: FoundProps) => (
  <>
    {pictures.map((picture) => (
      <PictureItem {...picture} />
    ))}
    {next && (
      <li class="more" hx-get={next} hx-trigger="revealed" hx-swap="outerHTML">
        <a class="button small" href={next}>
          {pictures.length > 0 ? 'More images' : 'Search in older images'}
        </a>
      </li>
    )}
    {!next && isContinued && (
      <li class="end quiet small">{isFiltered(filter) ? 'No more images match.' : 'These are all your images.'}</li>
    )}
  </>
)

/** The picture stays, and a sentence above says why. */
const IF_IT_FAILED = { 'hx-status:5xx': 'target:#outcome swap:innerHTML' }

const PictureItem = ({ image: { slug, prompt, width, height, madeOn }, file, preview }: Picture) => (
  <li class="picture" style={`--ratio: ${(width / height).toFixed(4)}`}>
    <a href={`/image/${slug}`} data-file={file}>
      <img src={preview} width={width} height={height} alt="" loading="lazy" decoding="async" />
      <span class="caption" dir="auto">
        {shortened(prompt)}
      </span>
    </a>
    {madeOn === 'api' && <span class="badge">API</span>}
    <form
      method="post"
      action={`/image/${slug}/delete`}
      hx-post={`/image/${slug}/delete`}
      hx-target="closest li"
      hx-swap="outerHTML"
      {...IF_IT_FAILED}
    >
      <button class="small danger" type="submit" data-confirm="Delete for good?">
        Delete
      </button>
    </form>
  </li>
)

/** So that a page of the longest prompts stays light. The image's own page has all of it. */
const MAX_NAME = 240

const shortened = (prompt: string): string =>
  prompt.length <= MAX_NAME ? prompt || 'Untitled' : `${prompt.slice(0, MAX_NAME - 1).replace(/\p{Cs}$/u, '')}…`

const PAGE_SIZE = 40
const MAX_SEARCH = 200

/** What makes no sense is left out: an address that was edited or cut short still shows a gallery. */
const query = z.object({
  q: z
    .string()
    .catch('')
    .transform((text) => text.replaceAll('\0', '').trim().slice(0, MAX_SEARCH).toWellFormed()),
  model: z.coerce.number().int().optional().catch(undefined),
  made: z.enum(['website', 'api']).optional().catch(undefined),
  cursor: page(3).cursor.catch(undefined),
})

/** What an account has made: all of it, or what is searched for. */
export function galleryRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/gallery', { schema: { querystring: query } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const { q, made, cursor: after } = request.query
    const models = await ports.models.listEnabled()
    const model = models.find(({ id }) => id === request.query.model)?.id
    const { items, next } = await ports.gallery.images(
      signedIn.caller.account.id,
      { prompt: q || undefined, modelVersionId: model, madeOn: made },
      { limit: PAGE_SIZE, after },
    )
    const filter: GalleryFilter = { q, model, made }
    const cursor = cursorOf(next)
    const found = {
      filter,
      pictures: items.map((image) => ({
        image,
        file: ports.images.url(image.slug),
        preview: image.hasThumbnail ? ports.images.thumbnailUrl(image.slug) : ports.images.url(image.slug),
      })),
      isContinued: after !== undefined,
      next: cursor === null ? undefined : addressOf({ ...filter, cursor }),
    }
    if (!wantsPart(request)) return sendPage(reply, <GalleryPage signedIn={signedIn} models={models} found={found} />)
    if (after) return sendFragment(reply, <Pictures {...found} />)
    return sendFragment(reply.header('hx-replace-url', addressOf({ ...filter })), <Found {...found} />)
  })
}

/** Going back in the browser's history asks for the whole page, too. */
const wantsPart = (request: FastifyRequest) =>
  isFragment(request) && request.headers['hx-history-restore-request'] !== 'true'

const addressOf = (fields: Parameters<typeof address>[1]) => address('/gallery', fields)
