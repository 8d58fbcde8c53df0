/** Entries of lists that operators import: what is refused is said with the number of the entry. */
import { AppError } from '../../core/errors.js'

/** @param toEntry reads one. @throws invalid_request */
export async function entriesOf<T>(
  list: readonly unknown[],
  toEntry: (value: unknown) => T | Promise<T>,
): Promise<T[]> {
  const entries: T[] = []
  for (const [index, value] of list.entries()) {
    try {
      entries.push(await toEntry(value))
    } catch (error) {
      throw error instanceof AppError ? new AppError('invalid_request', `Entry ${index + 1}: ${error.message}`) : error
    }
  }
  return entries
}

/**
 * @param alike what of two values must differ
 * @throws invalid_request where two entries have the same value, unless it is empty
 */
export function requireDistinct<T, V>(
  field: string,
  entries: readonly T[],
  of: (entry: T) => V,
  alike: (value: V) => unknown = (value) => value,
): void {
  const first = new Map<unknown, number>()
  for (const [index, entry] of entries.entries()) {
    const value = of(entry)
    if (!value) continue
    const before = first.get(alike(value))
    if (before !== undefined)
      throw new AppError('invalid_request', `Entries ${before + 1} and ${index + 1} have the same ${field}, ${value}.`)
    first.set(alike(value), index)
  }
}
