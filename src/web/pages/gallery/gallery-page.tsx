import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { Folder } from '../../../core/gallery/folders.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { cursorOf, page } from '../../../http/shared/fields.js'
import { endOfDay } from '../../../lib/moments.js'
import { Layout, sendFragment, sendPage } from '../../parts/layout.js'
import { ShortcutHelp } from '../../parts/page-parts.js'
import { address } from '../../parts/text.js'
import { isFragment } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { noSuchPage, sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'
import { Filters, type GalleryFilter } from './filters.js'
import { FolderActs, FolderLinks, folderId, folderOf } from './folder-links.js'
import { Found, type FoundProps, Pictures, pictureOf } from './pictures.js'
import { SelectionBar, Undo } from './selection.js'

interface GalleryPageProps {
  readonly signedIn: SignedIn
  readonly models: readonly ModelVersion[]
  readonly folders: readonly Folder[]
  /** The one that is open. */
  readonly folder: Folder | undefined
  readonly found: FoundProps
  /** How many deleted images can be brought back. */
  readonly undoable: number
}

/** An account's own images. */
const GalleryPage = ({ signedIn, models, folders, folder, found, undoable }: GalleryPageProps) => {
  const { gallery: words } = useTexts()
  return (
    <Layout
      title={folder ? folder.name : words.title}
      signedIn={signedIn}
      path="/gallery"
      class="gallery"
      style="gallery.css"
      script="gallery.js"
      scriptTexts={words.script}
      live
    >
      <div class="row apart">
        <h1 dir="auto">{folder ? folder.name : words.title}</h1>
        <span class="row">
          <fieldset id="sizes" class="row small" hidden>
            <legend class="hidden-visually">{words.sizes.label}</legend>
            {SIZES.map((value) => (
              <label>
                <input type="radio" name="size" value={value} /> {words.sizes[value]}
              </label>
            ))}
          </fieldset>
          <FolderActs folder={folder} />
          <ShortcutHelp
            keys={[
              [['J', '→'], words.keys.next],
              [['K', '←'], words.keys.previous],
              [['Enter'], words.keys.open],
              [['X'], words.keys.select],
              [['F'], words.keys.favourite],
              [['D'], words.keys.download],
              [['R'], words.keys.remix],
              [['A'], words.keys.selectAll],
              [['Esc'], words.keys.selectNone],
              [['Delete'], words.keys.remove],
            ]}
          />
        </span>
      </div>
      <FolderLinks folders={folders} open={folder?.id} />
      <Filters filter={found.filter} models={models} />
      <div id="outcome" role="status">
        {undoable > 0 && <Undo count={undoable} />}
      </div>
      <form id="selection" method="post" action="/gallery/selection" hx-post="/gallery/selection" hx-target="#outcome">
        <input type="hidden" name="back" value={addressOf(found.filter)} />
        {folder && <input type="hidden" name="open" value={folder.id} />}
        {/* Enter in a field presses the first button of its form, which was the star of the first picture. */}
        <button type="submit" name="act" value="add" hidden />
        <div id="found">
          <Found {...found} />
        </div>
        <SelectionBar folders={folders} open={folder?.id} />
      </form>
    </Layout>
  )
}

const SIZES = ['small', 'medium', 'large'] as const

const PAGE_SIZE = 40
/** What a page that is shown again may ask for at once. */
const MAX_AGAIN = 200
const MAX_SEARCH = 200

/** A day, as a field of the type "date" sends it. */
const day = z.iso.date().optional().catch(undefined)

/** What makes no sense is left out: an address that was edited or cut short still shows a gallery. */
const query = z.object({
  folder: folderId.optional().catch(undefined),
  q: z
    .string()
    .catch('')
    .transform((text) => text.replaceAll('\0', '').trim().slice(0, MAX_SEARCH).toWellFormed()),
  model: z.coerce.number().int().optional().catch(undefined),
  made: z.enum(['website', 'api']).optional().catch(undefined),
  shape: z.enum(['portrait', 'landscape', 'square']).optional().catch(undefined),
  from: day,
  to: day,
  sort: z.enum(['newest', 'oldest']).optional().catch(undefined),
  cursor: page(3).cursor.catch(undefined),
  count: z.coerce.number().int().min(1).max(MAX_AGAIN).optional().catch(undefined),
})

/** What an account has made: all of it, a folder, or what is searched for. */
export function galleryRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/gallery', { schema: { querystring: query } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const accountId = signedIn.caller.account.id
    const { cursor: after, count, folder: open, q, made, shape, from, to, sort } = request.query
    const [models, folders] = await Promise.all([ports.models.listEnabled(), ports.folders.list(accountId)])
    const folder = folderOf(folders, open, request.texts)
    if (open && !folder) throw noSuchPage()
    const model = models.find(({ id }) => id === request.query.model)?.id
    const filter: GalleryFilter = {
      folder: open,
      q,
      model,
      made,
      shape,
      from,
      to,
      sort: sort === 'newest' ? undefined : sort,
    }
    const [{ items, next }, undoable] = await Promise.all([
      ports.gallery.images(
        accountId,
        {
          ...{ folder: open, prompt: q || undefined, modelVersionId: model, madeOn: made, shape },
          since: from === undefined ? undefined : new Date(from),
          until: to === undefined ? undefined : endOfDay(new Date(to)),
        },
        // Only a part of a page may be large: what stood there before somebody came back.
        { limit: isFragment(request) ? (count ?? PAGE_SIZE) : PAGE_SIZE, after },
        sort,
      ),
      ports.deletions.undoable(accountId),
    ])
    const cursor = cursorOf(next)
    const found = {
      filter,
      pictures: items.map(pictureOf(ports.images)),
      isContinued: after !== undefined,
      next: cursor === null ? undefined : addressOf({ ...filter, cursor }),
    }
    if (!wantsPart(request))
      return sendPage(reply, <GalleryPage {...{ signedIn, models, folders, folder, found, undoable }} />)
    if (after) return sendFragment(reply, <Pictures {...found} />)
    return sendFragment(reply.header('hx-replace-url', addressOf({ ...filter })), <Found {...found} />)
  })
}

/** Going back in the browser's history asks for the whole page, too. */
const wantsPart = (request: FastifyRequest) =>
  isFragment(request) && request.headers['hx-history-restore-request'] !== 'true'

const addressOf = (fields: Parameters<typeof address>[1]) => address('/gallery', fields)
