/** How stores find and change what may be in the archive: it is brought back, and all goes on in the tables. */
import type { Archive, Span } from './archive.js'

interface WithArchive {
  readonly archive: Archive | undefined
}

/** Looks something up by its name, again after it was brought back from the archive, perhaps by somebody else at this moment. */
export async function orBroughtBack<T>(
  { archive }: WithArchive,
  name: string,
  find: () => Promise<T | undefined>,
  accountId?: string,
): Promise<T | undefined> {
  const found = await find()
  if (found !== undefined || !archive) return found
  await archive.bringBack([name], accountId)
  return find()
}

/**
 * Changes what has these names: first what is in Postgres, then what was brought back. In this order nothing is missed: whoever
 * archives a row finds the change, or has it brought back.
 * @param change resolves to how many it found; undefined: there is nothing to do. It may be repeated
 * @param add what both found
 */
export async function changedAlsoArchived<Count extends number | undefined>(
  { archive }: WithArchive,
  names: readonly string[],
  change: () => Promise<Count>,
  add: (first: Count, second: Count) => Count,
  accountId: string,
): Promise<Count> {
  const first = await change()
  if (!archive || first === undefined || first === names.length) return first
  await archive.bringBack(names, accountId)
  return add(first, await change())
}

export const sum = (first: number, second: number): number => first + second

const ALWAYS: Span = { from: undefined, to: undefined }

/** Brings back all that an account has there, or what is of the span. It stays: nothing of the account goes meanwhile. */
export async function bringAllBack({ archive }: WithArchive, accountId: string, span = ALWAYS): Promise<void> {
  await archive?.keep(accountId)
  while (await archive?.bringBackOneOf(accountId, span, 'oldest'));
}

/** The same of all that can be read. Resolves to the IDs of the files that can't. */
export async function bringBackWhatCanBe({ archive }: WithArchive, accountId: string): Promise<string[]> {
  await archive?.keep(accountId)
  return (await archive?.bringBackAllOf(accountId)) ?? []
}

/** One request brings back so many files at most: a second or two of work. */
const MOST_FILES = 20

/** Behind a page that ends where it would have to bring back more. */
export type NextPlace = readonly [at: number, seq: number]

/**
 * Reads a page of an account's list, again for as long as the archive has something of its place.
 * @param spanOf the place of the page that was read
 * @returns fewer rows than were read, and where the next page begins, if more files than one request brings back have some of
 * it: few rows of each may be of the list
 */
export async function alsoArchived<Row extends { readonly at: number }>(
  { archive }: WithArchive,
  accountId: string,
  read: () => Promise<Row[]>,
  spanOf: (rows: readonly Row[]) => Span | Promise<Span>,
  order: 'newest' | 'oldest' = 'newest',
): Promise<{ readonly rows: Row[]; readonly next?: NextPlace | undefined }> {
  for (let files = 0; ; files++) {
    const lastUse = await archive?.lastUse(accountId)
    const rows = await read()
    if (!archive) return { rows }
    const span = await spanOf(rows)
    const rest = files < MOST_FILES ? undefined : await archive.firstOf(accountId, span, order)
    if (rest !== undefined && order === 'newest')
      return { rows: rows.filter(({ at }) => at > rest), next: [rest + 1, 0] }
    if (rest !== undefined)
      return { rows: rows.filter(({ at }) => at < rest), next: [rest - 1, Number.MAX_SAFE_INTEGER] }
    if (await archive.bringBackOneOf(accountId, span, order)) continue
    // Somebody else may have brought back something of the page.
    if ((await archive.lastUse(accountId)) === lastUse) return { rows }
  }
}

/**
 * Where a page of a list is.
 * @param after where it begins, and `end` where it ends, in microseconds since 1970; undefined: where the list does
 */
export function timesOf(
  { since, until }: { readonly since?: Date | undefined; readonly until?: Date | undefined },
  after: number | undefined,
  end: number | undefined,
  order: 'newest' | 'oldest' = 'newest',
): Span {
  const [later, earlier] = order === 'newest' ? [after, end] : [end, after]
  return {
    from: earlier === undefined ? since : new Date(Math.floor(earlier / 1000)),
    to: later === undefined ? until : new Date(Math.ceil(later / 1000)),
  }
}
