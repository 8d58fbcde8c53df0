/** Folders in which an account sorts its images. An image may be in several, and stays in the gallery. */
import { isLine } from '../../lib/text.js'
import { AppError, invalidParameter } from '../errors.js'

export interface Folder {
  readonly id: string
  readonly name: string
}

/** The ID, for its account, of the folder that every account has. */
export const FAVOURITES = 'favourites'

export const MAX_FOLDERS = 200
export const FOLDER_NAME_LENGTH = 60

/** An ID is a folder's own or FAVOURITES; another account's folder is like none. */
export interface FolderStore {
  /** By name, without the favourites. */
  list(accountId: string): Promise<Folder[]>
  /** Names of one account differ in more than their case. Resolves to the ID. */
  create(accountId: string, name: string): Promise<string | 'taken' | 'too_many'>
  rename(accountId: string, id: string, name: string): Promise<'renamed' | 'taken' | 'none'>
  /** Its images stay. False: there is no such folder. */
  remove(accountId: string, id: string): Promise<boolean>
  /** Resolves to how many of these the account has, which are in the folder then; undefined: there is no such folder. */
  add(accountId: string, id: string, slugs: readonly string[]): Promise<number | undefined>
  /** False: there is no such folder. */
  take(accountId: string, id: string, slugs: readonly string[]): Promise<boolean>
  /** The IDs of those that an image is in. */
  of(accountId: string, slug: string): Promise<string[]>
}

/** Resolves to its ID. @throws invalid_request */
export async function createFolder(store: FolderStore, accountId: string, name: string): Promise<string> {
  const outcome = await store.create(accountId, requireName(name))
  if (outcome === 'taken') throw nameTaken(name)
  if (outcome !== 'too_many') return outcome
  throw new AppError('invalid_request', `You have ${MAX_FOLDERS} folders, the most there may be: delete one first.`)
}

/** @throws invalid_request, not_found */
export async function renameFolder(store: FolderStore, accountId: string, id: string, name: string): Promise<void> {
  const outcome = await store.rename(accountId, id, requireName(name))
  if (outcome === 'taken') throw nameTaken(name)
  if (outcome === 'none') throw folderNotFound()
}

export const folderNotFound = () => new AppError('not_found', 'This folder is gone: choose another one.')

const nameTaken = (name: string) =>
  invalidParameter('name', `You have a folder named "${name.trim()}": choose another name.`)

function requireName(text: string): string {
  const name = text.trim()
  if (isLine(name, FOLDER_NAME_LENGTH)) return name
  throw invalidParameter('name', `Give the folder a name of 1 to ${FOLDER_NAME_LENGTH} characters, on one line.`)
}
