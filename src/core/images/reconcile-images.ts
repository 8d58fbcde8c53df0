import type { ImageStore } from './ports.js'
import { eachTried } from './read-each.js'
import type { ImageRemovals } from './takedown.js'

interface InventoryImage {
  readonly slug: string
  readonly removed: boolean
  readonly isPrivate: boolean
}

/** Of every image that was ever published. */
export interface ImageInventory {
  /** In pages; those that are published meanwhile may be left out. */
  pages(): AsyncIterable<readonly InventoryImage[]>
  /** Those that no image has, and no generation may still publish. */
  unknownAmong(slugs: readonly string[]): Promise<string[]>
  /** Has the file and the CDN's copy of a removed image taken away once more. */
  takeDownAgain(slug: string): Promise<void>
  /** Has an image's files brought to where they belong. */
  moveAgain(slug: string): Promise<void>
}

interface ReconcilePorts {
  readonly inventory: ImageInventory
  readonly removals: ImageRemovals
  readonly store: Pick<ImageStore, 'remove'> & {
    readonly publicFiles: Listed
    readonly privateFiles: Listed
    exists(slug: string): Promise<boolean>
    changedAt(slug: string): Promise<Date | undefined>
  }
}

interface Listed {
  /** In pages. */
  all(): AsyncIterable<readonly string[]>
}

/** How many, and the first of them. */
interface Found {
  count: number
  readonly examples: string[]
}

/**
 * `stillThere`: removed, but its file is back. `fileGone`: published, but its file is not there. `misplaced`: a public file
 * of a private image, or the other way round. `unknown`: a file of no image.
 */
type ImageDifferences = Readonly<Record<'stillThere' | 'fileGone' | 'misplaced' | 'unknown', Found>>

/** `failed`: those that the store or Postgres did not let be looked at or changed. */
type Reconciled = ImageDifferences & { readonly failed: Found }

/** There are images and no file at all: a wrong directory looks like that, too. */
export class EmptyImageStore extends Error {}

const EXAMPLES = 20
const IMAGES_PER_PAGE = 500
/** A file is stored before its row. */
const UNRECORDED_FOR_MS = 600_000
/** How long a store may be away. */
const PATIENCE_MS = 10_000

/**
 * Finds where images and files disagree, as after a restore, when one of both is older than the other. What was removed
 * must not come back, so in doubt less is shown: an image without its file counts as removed from then on, for good.
 * @param apply `undefined`: only look. Else the reason that is kept with images that are marked
 * @param onFault told of each image that could not be looked at or changed: the others go on
 * @throws EmptyImageStore; what the store says, when it is away
 */
export async function reconcileImages(
  { inventory, removals, store }: ReconcilePorts,
  apply: { readonly reason: string } | undefined,
  onFault: (slug: string, error: unknown) => void = () => undefined,
): Promise<Reconciled> {
  const found = {
    ...{ stillThere: nothing(), fileGone: nothing(), misplaced: nothing(), unknown: nothing() },
    failed: nothing(),
  }
  let looking = ''
  const tryOne = eachTried(PATIENCE_MS, (error) => {
    note('failed', looking)
    onFault(looking, error)
  })
  const note = (what: keyof Reconciled, slug: string) => {
    found[what].count++
    if (found[what].examples.length < EXAMPLES) found[what].examples.push(slug)
  }
  const [publicFiles, privateFiles] = [await slugsOf(store.publicFiles), await slugsOf(store.privateFiles)]
  const files = new Set([...publicFiles, ...privateFiles])
  const isEmpty = files.size === 0

  const compare = async ({ slug, removed, isPrivate }: InventoryImage, hasFile: boolean) => {
    if (removed && hasFile) {
      if (apply) await inventory.takeDownAgain(slug)
      if (apply) await store.remove(slug)
      return 'stillThere'
    }
    // It may have been stored since the files were listed.
    if (!removed && !hasFile && !(await store.exists(slug))) {
      if (isEmpty) return 'empty'
      if (apply) await removals.remove(slug, apply.reason)
      return 'fileGone'
    }
    if (removed || !(isPrivate ? publicFiles : privateFiles).has(slug)) return undefined
    if (apply) await inventory.moveAgain(slug)
    return 'misplaced'
  }
  for await (const page of inventory.pages()) {
    for (const image of page) {
      looking = image.slug
      const hasFile = files.delete(looking)
      const what = (await tryOne(() => compare(image, hasFile)))?.done
      if (what === 'empty') throw new EmptyImageStore()
      if (what) note(what, looking)
    }
  }

  const removeUnknown = async (slug: string) => {
    const changedAt = await store.changedAt(slug)
    if (!changedAt || Date.now() - changedAt.getTime() <= UNRECORDED_FOR_MS) return false
    if (apply) await store.remove(slug)
    return true
  }
  const left = [...files]
  for (let from = 0; from < left.length; from += IMAGES_PER_PAGE) {
    for (const slug of await inventory.unknownAmong(left.slice(from, from + IMAGES_PER_PAGE))) {
      looking = slug
      if ((await tryOne(() => removeUnknown(slug)))?.done) note('unknown', slug)
    }
  }
  return found
}

async function slugsOf(files: Listed): Promise<Set<string>> {
  const slugs = new Set<string>()
  for await (const page of files.all()) for (const slug of page) slugs.add(slug)
  return slugs
}

const nothing = (): Found => ({ count: 0, examples: [] })
