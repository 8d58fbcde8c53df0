import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { invalidParameter } from '../../../core/errors.js'
import { filesOf, imagesIn, imagesNamed } from '../../../core/gallery/archive.js'
import { deleteSoon, UNDO_SECONDS } from '../../../core/gallery/deletion.js'
import {
  createFolder,
  FAVOURITES,
  FOLDER_NAME_LENGTH,
  type Folder,
  folderNotFound,
  MAX_FOLDERS,
} from '../../../core/gallery/folders.js'
import { SLUG } from '../../../core/images/ports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { fileNameOf } from '../../../lib/file-name.js'
import { sendFragment } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import { isFragment } from '../../shared/answers.js'
import { sendDownload } from '../../shared/download.js'
import { nextPath } from '../../shared/next-path.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { type Texts, useTexts } from '../../texts/texts.js'
import { FolderLinks, folderId, folderOf } from './folder-links.js'

/** What one does with the images that are selected; it shows once one is. */
export const SelectionBar = ({ folders, open }: { folders: readonly Folder[]; open: string | undefined }) => {
  const { selection: words, folders: folderWords } = useTexts().gallery
  return (
    <div id="selection-bar" class="card row" role="toolbar" aria-label={words.label}>
      <output class="count" />
      <button class="small plain all" type="button">
        {words.all}
      </button>
      <span class="row">
        <select name="folder" aria-label={folderWords.folder}>
          <option value="">{words.intoFolder}</option>
          {open !== FAVOURITES && <option value={FAVOURITES}>{`★ ${folderWords.favourites}`}</option>}
          {folders
            .filter(({ id }) => id !== open)
            .map(({ id, name }) => (
              <option value={id}>{name}</option>
            ))}
        </select>
        {folders.length < MAX_FOLDERS && (
          <input
            type="text"
            name="name"
            placeholder={words.orNew}
            aria-label={folderWords.nameOfNew}
            maxlength={FOLDER_NAME_LENGTH}
            autocomplete="off"
          />
        )}
        <button class="small" type="submit" name="act" value="add">
          {words.add}
        </button>
      </span>
      {open && (
        <button class="small" type="submit" name="act" value="take">
          {words.take}
        </button>
      )}
      <button class="small" type="submit" name="act" value="compare" data-plain>
        {words.compare}
      </button>
      <span class="row">
        <button class="small" type="submit" name="act" value="download" data-plain>
          {words.download}
        </button>
        <label class="row small">
          <input type="checkbox" name="parameters" value="1" checked /> {words.withParameters}
        </label>
      </span>
      <span class="row">
        <button class="small" type="submit" name="act" value="private">
          {words.makePrivate}
        </button>
        <button class="small" type="submit" name="act" value="public">
          {words.makePublic}
        </button>
      </span>
      <button class="small danger" type="submit" name="act" value="delete">
        {words.remove}
      </button>
      <button class="small plain clear" type="reset">
        {words.none}
      </button>
    </div>
  )
}

/** Says what was deleted, and brings it back. */
export const Undo = ({ count }: { count: number }) => {
  const { selection: words } = useTexts().gallery
  return (
    <form class="undo row" method="post" action="/gallery/undo" hx-post="/gallery/undo" hx-target="#outcome">
      <span>{words.removed(count)}</span>
      <button class="small" type="submit">
        {words.undo}
      </button>
      <span class="quiet small">{words.within(UNDO_SECONDS)}</span>
    </form>
  )
}

const MAX_SELECTED = 2000
/** For more than that: who selected too many is told how many there may be. */
const BODY_LIMIT = 1024 * 1024

const selection = z.object({
  slug: z
    .union([z.array(z.string()), z.string().transform((slug) => [slug])])
    .catch([])
    .transform((slugs) => [...new Set(slugs)].filter((slug) => SLUG.test(slug))),
  act: z.enum(['add', 'take', 'compare', 'download', 'delete', 'private', 'public']).catch('add'),
  folder: z.union([folderId, z.literal('')]).catch(''),
  name: z.string().catch(''),
  parameters: z.string().optional().catch(undefined),
  /** The folder that is open. */
  open: folderId.optional().catch(undefined),
  back: nextPath,
})

const archiveQuery = z.object({
  folder: folderId.optional().catch(undefined),
  parameters: z.string().optional().catch(undefined),
})

const sendZip = (reply: FastifyReply, zip: Readable, name: string) =>
  sendDownload(reply, `easel-${fileNameOf(name)}.zip`, 'application/zip', zip)

/** What one does with several images at once. */
export function selectionRoutes(app: App, { ports }: WebsiteOptions): void {
  const { folders, deletions, privacy } = ports

  /** Into a folder that there is, or a new one. Resolves to what was done. */
  const add = async (accountId: string, { slug, folder, name }: z.output<typeof selection>, texts: Texts) => {
    if (name.trim() === '' && folder === '') throw invalidParameter('folder', 'Choose a folder, or name a new one.')
    const id = name.trim() === '' ? folder : await createFolder(folders, accountId, name)
    const added = await folders.add(accountId, id, slug)
    if (added === undefined) throw folderNotFound()
    if (added === 0) throw invalidParameter('slug', 'None of these images is yours any more: reload the page.')
    const into = folderOf(await folders.list(accountId), id, texts)
    const words = texts.gallery.selection
    return words.added(added, into?.name ?? words.theFolder)
  }

  app.post('/gallery/selection', { schema: { body: selection }, bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const { id: accountId } = sessionOf(request).caller.account
    const { slug: slugs, act, open, back, parameters } = request.body
    const { selection: words } = request.texts.gallery
    if (slugs.length === 0) throw invalidParameter('slug', 'Select one or more images first.')
    if (slugs.length > MAX_SELECTED) throw invalidParameter('slug', `Select ${MAX_SELECTED} images at most.`)
    if (act === 'compare') {
      if (slugs.length !== 2) throw invalidParameter('slug', 'Select exactly two images to compare them.')
      return reply.redirect(`/compare/${slugs.join('/')}`, 303)
    }
    if (act === 'download') {
      const images = imagesNamed(ports, accountId, slugs)
      return sendZip(reply, ports.files.zipOf(filesOf(ports, images, parameters !== undefined)), 'images')
    }
    if (act === 'private' || act === 'public') {
      await privacy.set(accountId, slugs, act === 'private')
      // Each picture says what it is.
      return isFragment(request) ? reply.header('hx-refresh', 'true').send('') : reply.redirect(back, 303)
    }
    const deleted = act === 'delete' ? await deleteSoon(deletions, accountId, slugs) : 0
    if (act === 'take' && !(open && (await folders.take(accountId, open, slugs)))) throw folderNotFound()
    const done = act === 'add' ? await add(accountId, request.body, request.texts) : undefined
    const gone = act === 'delete' ? words.alreadyRemoved : words.taken
    if (!isFragment(request)) return reply.redirect(back, 303)
    return sendFragment(
      reply,
      <>
        {deleted > 0 ? <Undo count={await deletions.undoable(accountId)} /> : <Notices done={done ?? gone} />}
        {act !== 'add' && slugs.map((slug) => <li id={`i-${slug}`} hx-swap-oob="delete" />)}
        {done && <FolderLinks folders={await folders.list(accountId)} open={open} again />}
      </>,
    )
  })

  app.post('/gallery/undo', async (request, reply) => {
    const undone = await deletions.undo(sessionOf(request).caller.account.id)
    if (undone > 0 && isFragment(request)) return reply.header('hx-refresh', 'true').send('')
    if (undone > 0) return reply.redirect('/gallery', 303)
    throw invalidParameter('undo', 'It is too late: these images are deleted for good.')
  })

  // A route for HEAD would read all images.
  const options = { exposeHeadRoute: false, schema: { querystring: archiveQuery } }
  app.get('/gallery/download', options, async (request, reply) => {
    const { folder, parameters } = request.query
    const { id: accountId } = sessionOf(request).caller.account
    const open = folder && folderOf(await folders.list(accountId), folder, request.texts)
    if (folder && !open) throw folderNotFound()
    const images = imagesIn(ports, accountId, folder)
    return sendZip(
      reply,
      ports.files.zipOf(filesOf(ports, images, parameters !== undefined)),
      open ? open.name : 'images',
    )
  })
}
