/** JSON files that commands import. */
import { entriesOf } from '../http/shared/entries.js'
import { parseJson, readBytes } from '../lib/json-file.js'
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
  const list = parsed(path, await readText(path))
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of ${what}.`)
  return entriesOf(list, toEntry)
}

export async function readText(path: string): Promise<string> {
  try {
    return readBytes(path).toString('utf8')
  } catch (error) {
    throw new OperatorError(`${path} ${(error as Error).message}: give the path of a JSON file.`)
  }
}

function parsed(path: string, content: string): unknown {
  try {
    return parseJson(content)
  } catch (error) {
    throw new OperatorError(`${path} ${(error as Error).message}.`)
  }
}
