/** JSON files that commands import. */
import { readFile } from 'node:fs/promises'
import { entriesOf } from '../http/shared/entries.js'
import { OperatorError } from './operator-error.js'

/**
 * The entries of a file that holds a JSON array.
 * @param what the array holds, for people
 * @param toEntry reads one; what it refuses is said with the number of the entry
 * @throws OperatorError, invalid_request, with one sentence
 */
export async function readEntries<T>(
  path: string,
  what: string,
  toEntry: (value: unknown) => T | Promise<T>,
): Promise<T[]> {
  const list = parseJson(path, await readText(path))
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of ${what}.`)
  return entriesOf(list, toEntry)
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
