import { z } from 'zod'
import { FAVOURITES, FOLDER_NAME_LENGTH, type Folder } from '../../../core/gallery/folders.js'
import { address } from '../../parts/text.js'
import { type Texts, useTexts } from '../../texts/texts.js'

export const folderId = z.union([z.literal(FAVOURITES), z.uuid()])

/** One of an account's folders, the favourites among them. */
export const folderOf = (folders: readonly Folder[], id: string | undefined, { gallery }: Texts): Folder | undefined =>
  id === FAVOURITES ? { id, name: gallery.folders.favourites } : folders.find((folder) => folder.id === id)

interface FolderLinksProps {
  readonly folders: readonly Folder[]
  /** The one that is open; undefined: all images. */
  readonly open: string | undefined
  /** The list takes the place of the one on the page. */
  readonly again?: boolean
}

/** All of them are on a page of their own. */
const SHOWN = 10

/** The ways to all images, to the favourites and to each folder. */
export const FolderLinks = ({ folders, open, again = false }: FolderLinksProps) => {
  const isLate = ({ id }: Folder, n: number) => n >= SHOWN && id !== open
  const late = folders.filter(isLate)
  const { folders: words } = useTexts().gallery
  return (
    <nav id="folders" class="folders row" aria-label={words.title} {...(again && { 'hx-swap-oob': 'true' })}>
      <FolderLink name={words.all} open={open} />
      <FolderLink id={FAVOURITES} name={`★ ${words.favourites}`} open={open} />
      {folders
        .filter((folder, n) => !isLate(folder, n))
        .map(({ id, name }) => (
          <FolderLink id={id} name={name} open={open} />
        ))}
      <a class="quiet" href="/gallery/folders">
        {late.length > 0 ? words.listed(folders.length) : words.make}
      </a>
    </nav>
  )
}

const FolderLink = ({ id, name, open }: { id?: string; name: string; open: string | undefined }) => (
  <a href={address('/gallery', { folder: id })} aria-current={id === open ? 'page' : undefined} dir="auto">
    {name}
  </a>
)

/** What one does with a folder as a whole. */
export const FolderActs = ({ folder }: { folder: Folder | undefined }) => {
  const { folders: words } = useTexts().gallery
  return (
    <details class="drop-down">
      <summary>{folder ? words.folder : words.downloadAll}</summary>
      <div class="card stack">
        {folder && folder.id !== FAVOURITES && (
          <form class="row" method="post" action={`/gallery/folders/${folder.id}`}>
            <input
              type="text"
              name="name"
              value={folder.name}
              aria-label={words.name}
              maxlength={FOLDER_NAME_LENGTH}
              autocomplete="off"
              required
            />
            <button type="submit">{words.rename}</button>
          </form>
        )}
        <form class="row" method="get" action="/gallery/download">
          {folder && <input type="hidden" name="folder" value={folder.id} />}
          <label class="row">
            <input type="checkbox" name="parameters" value="1" checked /> {words.withParameters}
          </label>
          <button type="submit">{words.zip}</button>
        </form>
        {folder && folder.id !== FAVOURITES && (
          <form method="post" action={`/gallery/folders/${folder.id}/delete`}>
            <button class="danger" type="submit" data-confirm={words.confirm}>
              {words.remove}
            </button>
          </form>
        )}
      </div>
    </details>
  )
}
