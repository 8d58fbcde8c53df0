/** JSON files that commands import. */
import { readFile } from 'node:fs/promises'
import { AppError } from '../core/errors.js'
import { OperatorError } from './operator-error.js'

/**
 * The entries of a file that holds a JSON array.
 * @param what the array holds, for people
 * @param toEntry reads one; what it refuses is said with the number of the entry
 * @throws OperatorError with one sentence
 */
export async function readEntries<T>(
  path: string,
  what: string,
  toEntry: (value: unknown) => T | Promise<T>,
): Promise<T[]> {
  const list = parseJson(path, await readText(path))
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of ${what}.`)
  const entries: T[] = []
  for (const [index, value] of list.entries()) {
    try {
      entries.push(await toEntry(value))
    } catch (error) {
      throw error instanceof AppError ? new OperatorError(`Entry ${index + 1}: ${error.message}`) : error
    }
  }
  return entries
}

export const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${path} can't be read (${error.code}): give the path of a JSON file.`)
  })

function parseJson(path: string, content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new OperatorError(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

/** @throws OperatorError where two entries have the same value, unless it is empty */
export function requireDistinct<T>(field: string, entries: readonly T[], of: (entry: T) => unknown): void {
  const values = entries.map(of)
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value)
    if (value && first < index)
      throw new OperatorError(`Entries ${first + 1} and ${index + 1} have the same ${field}, ${value}.`)
  }
}
