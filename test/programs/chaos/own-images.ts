/** What people on the website do with their images: sort them into folders, make them private, delete them. */
import type pg from 'pg'
import type { Seeded } from '../../support/seeded.js'
import type { Browser } from './browser.js'
import type { Answered, Violation } from './history.js'

/** `unknown` where a request was never answered: it may still be carried out later, after others. */
type Known<T> = T | 'unknown'

/** An image as the answers that its owner got have it. */
export interface KnownImage {
  isPrivate: Known<boolean>
  isDeleted: Known<boolean>
  /** Whether it is in a folder, by the folder's ID. */
  readonly folders: Map<string, Known<boolean>>
}

/** By slug. */
export type KnownImages = Map<string, KnownImage>

const PICTURE = /id="i-(\w+)"/g
const MAX_FOLDERS = 3
/** For so long a deletion can be undone, with room for a slow answer. */
const UNDOABLE_MS = 20_000

const now = () => performance.now()

/** @returns one act of somebody who keeps images in order, with one of the newest of them */
export function imageKeeper(browser: Browser, chance: Seeded, images: KnownImages): () => Promise<void> {
  const folders: string[] = []
  const deletions: { readonly image: KnownImage; readonly at: number }[] = []

  /** @param note what is true once it was carried out */
  const change = async (
    name: string,
    path: string,
    form: Readonly<Record<string, string>>,
    note: (value: <T>(done: T) => Known<T>) => void,
  ): Promise<Answered | undefined> => {
    const answered = await browser.post(name, path, form)
    note((done) => (answered ? done : 'unknown'))
    return answered
  }

  const setPrivacy = async (slug: string, image: KnownImage) => {
    const isPrivate = image.isPrivate !== true
    const wasUnknown = image.isPrivate === 'unknown'
    const form = { private: isPrivate ? '1' : '' }
    await change('change who sees an image', `/image/${slug}/privacy`, form, (value) => {
      image.isPrivate = wasUnknown ? 'unknown' : value(isPrivate)
    })
    if (image.isPrivate === 'unknown') return
    await browser.asStranger('the image of somebody else', `/image/${slug}`, image.isPrivate ? 404 : 200)
    // While Postgres is away, a server knows which images had been made private a second before.
    if (image.isPrivate) await browser.asStranger('the file of a private image', `/cdn/${slug}.png`, 404, [200])
    await browser.get('the own image', `/image/${slug}`)
  }

  const sort = async (slug: string, image: KnownImage) => {
    if (folders.length < MAX_FOLDERS) {
      const name = `${browser.mark} ${chance.next()}`
      const made = await browser.post('create a folder', '/gallery/folders', { name })
      const [, id] = /folder=([0-9a-f-]{36})/.exec(made?.page?.location ?? '') ?? []
      if (id) folders.push(id)
    }
    const folder = folders[chance.below(folders.length)]
    if (!folder) return
    const before = image.folders.get(folder) ?? false
    const isIn = before !== true
    const form = { slug, act: isIn ? 'add' : 'take', [isIn ? 'folder' : 'open']: folder }
    await change('sort an image', '/gallery/selection', form, (value) => {
      image.folders.set(folder, before === 'unknown' ? 'unknown' : value(isIn))
    })
    await browser.get('a folder', `/gallery?folder=${folder}`)
  }

  const remove = async (slug: string, image: KnownImage) => {
    await change('delete an image', '/gallery/selection', { slug, act: 'delete' }, (value) => {
      image.isDeleted = value(true)
    })
    const isCertain = image.isDeleted === true
    deletions.push({ image, at: now() })
    if (chance.next() < 0.5) return
    // 400: it is too late.
    const undone = await browser.post('undo a deletion', '/gallery/undo', {}, [303, 400])
    const undoable = deletions.filter(({ at }) => now() - at < UNDOABLE_MS)
    // The last one is undone if any is. Of those before it some are, and what was not answered may come later.
    if (undone?.status !== 400) for (const before of undoable) before.image.isDeleted = 'unknown'
    if (undone?.status === 303 && isCertain) image.isDeleted = false
  }

  return async () => {
    const page = await browser.get('gallery', '/gallery')
    const shown = [...(page?.text.matchAll(PICTURE) ?? [])].map(([, slug]) => slug as string)
    const slug = shown[chance.below(shown.length)]
    if (!slug) return
    const image = images.get(slug) ?? { isPrivate: false, isDeleted: false, folders: new Map() }
    images.set(slug, image)
    if (image.isDeleted !== false) return
    const what = chance.next()
    if (what < 0.45) await setPrivacy(slug, image)
    else if (what < 0.9) await sort(slug, image)
    else await remove(slug, image)
  }
}

/** A move that is due is begun within seconds, and a failed one tried again within minutes. */
const OVERDUE_SECONDS = 60

/** What is not as the answers had it; and files that nobody moves. */
export async function imageViolations(
  postgres: Pick<pg.ClientBase, 'query'>,
  images: ReadonlyMap<string, KnownImage>,
): Promise<Violation[]> {
  const { rows } = await postgres.query<{ slug: string; private: boolean; deleted: boolean; folders: string[] }>(
    `SELECT slug, private, delete_at IS NOT NULL AS deleted,
            ARRAY(SELECT folder_id::text FROM folder_images f WHERE f.slug = i.slug) AS folders
       FROM images i WHERE slug = ANY ($1)`,
    [[...images.keys()]],
  )
  const found: string[] = []
  const compare = (what: string, is: boolean, known: Known<boolean>) => {
    if (known !== 'unknown' && known !== is) found.push(`${what}: ${is}, though the answers had it ${known}`)
  }
  for (const [slug, { isPrivate, isDeleted, folders }] of images) {
    const row = rows.find((it) => it.slug === slug)
    if (!row) {
      found.push(`${slug} is lost`)
      continue
    }
    compare(`${slug} is private`, row.private, isPrivate)
    compare(`${slug} is deleted`, row.deleted, isDeleted)
    if (isDeleted === false)
      for (const [folder, known] of folders)
        compare(`${slug} is in the folder ${folder}`, row.folders.includes(folder), known)
  }
  const overdue = await postgres.query<{ slug: string }>(
    `SELECT slug FROM image_moves WHERE due_at < now() - $1::integer * interval '1 second'`,
    [OVERDUE_SECONDS],
  )
  found.push(...overdue.rows.map(({ slug }) => `nobody moves the files of ${slug}`))
  return found.map((what) => ({ invariant: 'own images', what }))
}
