import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SLUG } from '../generation/generation.js'
import { fileImageStore } from './file-image-store.js'

const PAGE = 1000

interface StoreConfig {
  /** Absolute. */
  readonly storagePath: string
  readonly cdnBaseUrl: string
}

/** The image directory, only read: unlike createImageStore it makes and clears away nothing. */
export function storedImages({ storagePath, cdnBaseUrl }: StoreConfig) {
  const { read } = fileImageStore({ root: storagePath, cdnBaseUrl })
  const changedAt = (slug: string) => stat(join(storagePath, `${slug}.png`)).then((found) => found.mtime, ifMissing)
  return {
    read,
    changedAt,
    exists: async (slug: string) => (await changedAt(slug)) !== undefined,

    async *all() {
      const directory = await opendir(storagePath, { bufferSize: PAGE }).catch(ifMissing)
      let page: string[] = []
      for await (const { name } of directory ?? []) {
        if (!name.endsWith('.png') || !SLUG.test(name.slice(0, -4))) continue
        if (page.push(name.slice(0, -4)) < PAGE) continue
        yield page
        page = []
      }
      if (page.length > 0) yield page
    },
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}
