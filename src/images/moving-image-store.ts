import type { AnyImageStore } from './any-image-store.js'

/**
 * Two stores while `easel storage move` copies from the older one: new images go to the newer one, an image is read from
 * where it is, and removed from both.
 */
export const movingImageStore = (newer: AnyImageStore, older: AnyImageStore): AnyImageStore => {
  /** Also from the older one where the newer one fails: some stores forbid what is not there. */
  const find = async <T>(ask: (store: AnyImageStore) => Promise<T | undefined>): Promise<T | undefined> => {
    const [found, fault] = await ask(newer).then(
      (it) => [it, undefined] as const,
      (error: unknown) => [undefined, { error }] as const,
    )
    if (found !== undefined) return found
    const old = await ask(older)
    if (old === undefined && fault) throw fault.error
    return old
  }
  return {
    ...newer,
    async remove(slug) {
      await Promise.all([newer.remove(slug), older.remove(slug)])
    },
    read: (slug) => find((store) => store.read(slug)),
    readThumbnail: (slug) => find((store) => store.readThumbnail(slug)),
    sha256: (slug, extension) => find((store) => store.sha256(slug, extension)),
    exists: async (slug) => (await find(async (store) => (await store.exists(slug)) || undefined)) ?? false,
    changedAt: (slug) => find((store) => store.changedAt(slug)),
    async *all() {
      yield* newer.all()
      yield* older.all()
    },
    open: (request) => find((store) => store.open(request)),
  }
}
