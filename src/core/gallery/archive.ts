import { fileNameOf } from '../../lib/file-name.js'
import type { Page, PageRequest } from '../../lib/page.js'
import type { ArchivedFile, ImageFiles } from '../images/ports.js'
import { eachTried } from '../images/read-each.js'
import { FAVOURITES, type FolderStore, folderNotFound } from './folders.js'
import type { GalleryStore, OwnImage } from './gallery.js'
import { infotextOf } from './infotext.js'

interface ArchivePorts {
  readonly gallery: GalleryStore
  readonly files: ImageFiles
}

const PAGE = 100
/** How long the image store may be away. */
const PATIENCE_MS = 30_000

/** All of an account's images, or those of a folder, newest first. @throws not_found: the folder was deleted meanwhile */
export async function* imagesIn(
  { gallery, folders }: ArchivePorts & { readonly folders: FolderStore },
  accountId: string,
  folder: string | undefined,
) {
  for (let after: PageRequest['after']; ; ) {
    const { items, next }: Page<OwnImage> = await gallery.images(accountId, { folder }, { limit: PAGE, after })
    yield* items
    if (!next) break
    after = next
  }
  // Its images were no longer found: what came before must not look like all of them.
  if (folder === undefined || folder === FAVOURITES) return
  if (!(await folders.list(accountId)).some(({ id }) => id === folder)) throw folderNotFound()
}

/** Those of these that the account has, in their order. */
export async function* imagesNamed({ gallery }: ArchivePorts, accountId: string, slugs: readonly string[]) {
  for (const slug of slugs) {
    const image = await gallery.image(accountId, slug)
    if (image) yield image
  }
}

/** Named after the prompt and the seed; without its ending. */
export const imageFileName = ({ prompt, seed }: Pick<OwnImage, 'prompt' | 'seed'>): string =>
  `${fileNameOf(prompt)}-${seed}`

/**
 * The files of images. A list of those whose file is not there, or can't be read, comes last, if there are any.
 * @param withParameters whether each says how it was made, as the API's file of an image does
 */
export async function* filesOf(
  { files }: ArchivePorts,
  images: AsyncIterable<OwnImage>,
  withParameters: boolean,
): AsyncGenerator<ArchivedFile> {
  const missing: string[] = []
  const unreadable: string[] = []
  const used = new Map<string, number>()
  const tryOne = eachTried(PATIENCE_MS, () => undefined)
  for await (const image of images) {
    const read = await tryOne(() => files.read(image.slug))
    const png = read?.done
    const base = imageFileName(image)
    // Some file systems take large and small letters for the same, such as the two forms of sigma.
    const same = base.toUpperCase()
    const times = (used.get(same) ?? 0) + 1
    used.set(same, times)
    const name = times === 1 ? `${base}.png` : `${base} (${times}).png`
    if (!png) (read ? missing : unreadable).push(name)
    else yield { name, at: image.createdAt, bytes: withParameters ? files.withInfotext(png, infotextOf(image)) : png }
  }
  const lines = [
    ...(missing.length > 0 ? ['The files of these images are missing on the server:', ...missing, ''] : []),
    ...(unreadable.length > 0 ? [`${UNREADABLE}:`, ...unreadable, ''] : []),
  ]
  if (lines.length > 0) yield { name: 'missing.txt', at: new Date(), bytes: Buffer.from(lines.join('\n')) }
}

const UNREADABLE = 'The server could not read the files of these images. Download them later, or tell its operator'
