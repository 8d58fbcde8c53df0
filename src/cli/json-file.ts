/** JSON files that commands import. */
import { buffer } from 'node:stream/consumers'
import { entriesOf } from '../http/shared/entries.js'
import { parseJson, readBytes, textOf } from '../lib/json-file.js'
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
  return entriesOf(await readList(path, what), toEntry)
}

/** The list itself. @param instead says of other JSON what it is @throws OperatorError */
export async function readList(path: string, what: string, instead?: (value: unknown) => string | undefined) {
  const list = parsed(path, await readText(path))
  const other = instead?.(list)
  if (other !== undefined) throw new OperatorError(`${path} ${other}`)
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of ${what}.`)
  return list as unknown[]
}

interface Reading {
  /** What the file should be, for people. */
  readonly what?: string
  /** A picture is read as text, too. */
  readonly orPicture?: boolean
}

/** The text of a file that somebody wrote; `-` is what is piped in. @throws OperatorError with one sentence */
export async function readText(path: string, { what = 'a JSON file', orPicture }: Reading = {}): Promise<string> {
  const bytes =
    path === '-' ? await buffer(process.stdin) : faultsOf(path, `: give the path of ${what}.`, () => readBytes(path))
  return faultsOf(path, '.', () => textOf(bytes, { orPicture }))
}

function faultsOf<T>(path: string, end: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new OperatorError(`${path === '-' ? 'What is piped in' : path} ${(error as Error).message}${end}`)
  }
}

const parsed = (path: string, content: string): unknown => faultsOf(path, '.', () => parseJson(content))
