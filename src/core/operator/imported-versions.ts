/** What an import does to model versions. */
import { withoutRevision } from '../catalog/model-definition.js'

/** `moved`: it draws with another file; `back`: with an earlier revision of its own. */
export const IMPORT_CHANGES = ['new', 'unchanged', 'changed', 'moved', 'back'] as const
export type ImportChange = (typeof IMPORT_CHANGES)[number]

export interface ImportedVersion {
  readonly id: number
  readonly filename: string
  /** What it drew with before; undefined: it is new. */
  readonly before: string | undefined
  readonly change: ImportChange
  /** The other fields that changed, by their names in an entry. */
  readonly fields: readonly string[]
  /** The backends that are up and draw with it. */
  readonly servedBy: readonly string[]
  /** Where there is none: why, a sentence each. */
  readonly notServed: readonly string[]
}

const revisionOf = (filename: string): number => Number(/@(\d+)$/.exec(filename)?.[1] ?? 0)

export function changeOf(before: string | undefined, filename: string, fields: readonly string[]): ImportChange {
  if (before === undefined) return 'new'
  if (before === filename) return fields.length > 0 ? 'changed' : 'unchanged'
  const isEarlier = withoutRevision(before) === withoutRevision(filename) && revisionOf(filename) < revisionOf(before)
  return isEarlier ? 'back' : 'moved'
}

/** As a sentence without its end. */
export function sayChange(change: ImportChange, id: number, filename: string): string {
  const version = `Version ${id}`
  if (change === 'new') return `${version} is new and draws with ${filename}`
  if (change === 'unchanged') return `${version} is unchanged and draws with ${filename}`
  if (change === 'changed') return `${version} is changed and draws with ${filename} as before`
  return change === 'back' ? `${version} goes back to ${filename}` : `${version} draws with ${filename} now`
}

/** A version that an import would have draw with what no backend that is up can draw, although it is drawn now. */
export type UnservedVersion = Pick<ImportedVersion, 'id' | 'filename' | 'notServed'> & { readonly before: string }

export type ImportAnswer =
  | { readonly outcome: 'imported'; readonly versions: readonly ImportedVersion[] }
  /** Nothing was changed. */
  | { readonly outcome: 'unserved'; readonly versions: readonly UnservedVersion[] }

/** As a sentence without its end. */
export const sayUnserved = (versions: readonly UnservedVersion[]): string =>
  `No GPU server that is up can draw ${versions
    .map(({ id, filename, before }) => `${filename}, and version ${id} is drawn with ${before}`)
    .join('; nor ')}, so nothing was changed`
