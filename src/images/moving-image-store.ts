import type { AnyImageStore } from './any-image-store.js'

/**
 * Two stores while `easel storage move` copies from the older one: new images go to the newer one, an image is read from
 * where it is, and removed from both.
 */
export const movingImageStore = (newer: AnyImageStore, older: AnyImageStore): AnyImageStore => ({
  ...newer,
  async remove(slug) {
    await Promise.all([newer.remove(slug), older.remove(slug)])
  },
  read: async (slug) => (await newer.read(slug)) ?? older.read(slug),
  readThumbnail: async (slug) => (await newer.readThumbnail(slug)) ?? older.readThumbnail(slug),
  sha256: async (slug, extension) => (await newer.sha256(slug, extension)) ?? older.sha256(slug, extension),
  exists: async (slug) => (await newer.exists(slug)) || older.exists(slug),
  changedAt: async (slug) => (await newer.changedAt(slug)) ?? older.changedAt(slug),
  async *all() {
    yield* newer.all()
    yield* older.all()
  },
  open: async (request) => (await newer.open(request)) ?? older.open(request),
})
