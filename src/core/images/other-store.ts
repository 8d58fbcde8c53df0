/** Few, since each is asked for; more than are lost by accident. */
const ASKED = 20

interface OtherStorePorts {
  /** Slugs of public images that should be there, in any order. */
  somePublished(limit: number): Promise<readonly string[]>
  readonly images: { exists(slug: string): Promise<boolean> }
}

/**
 * Whether the store is another one than that in which the images are: a disk that is not mounted, or a changed STORAGE_URL. New
 * images would go there, and the others be a 404. @throws what Postgres or the store says
 */
export async function isOtherStore({ somePublished, images }: OtherStorePorts): Promise<boolean> {
  const slugs = await somePublished(ASKED)
  const there = await Promise.all(slugs.map((slug) => images.exists(slug)))
  return slugs.length > 0 && !there.includes(true)
}
