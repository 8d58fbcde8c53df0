/** Settings of the Create page that an account keeps under a name: all but the prompt and the seed. */
import { isLine, isStorable } from '../../lib/text.js'
import { AppError, invalidParameter } from '../errors.js'

/** The body of a submit without its prompt and its seed. */
export type SettingsBody = Readonly<Record<string, unknown>>

export interface SavedSettings {
  readonly id: string
  readonly name: string
  /** Words for the end of each prompt; may be empty. */
  readonly style: string
  readonly body: SettingsBody
}

export type NewSettings = Omit<SavedSettings, 'id'>

export const MAX_SAVED_SETTINGS = 100
export const SETTINGS_NAME_LENGTH = 60
export const STYLE_LENGTH = 500

/** An account's own; another account's are like none. Names of one account differ in more than their case. */
export interface SavedSettingsStore {
  /** By name. */
  list(accountId: string): Promise<Pick<SavedSettings, 'id' | 'name'>[]>
  find(accountId: string, id: string): Promise<SavedSettings | undefined>
  save(accountId: string, settings: NewSettings): Promise<'saved' | 'taken' | 'too_many'>
  /** Replaces those of that name. False: there are none. */
  replace(accountId: string, settings: NewSettings): Promise<boolean>
  rename(accountId: string, id: string, name: string): Promise<'renamed' | 'taken' | 'none'>
  remove(accountId: string, id: string): Promise<boolean>
}

/** Saves them, unless others have the name: these are replaced only if the person has said so. @throws invalid_request */
export async function saveSettings(
  store: Pick<SavedSettingsStore, 'save' | 'replace'>,
  accountId: string,
  { name: given, style: words, body }: NewSettings,
  mayReplace: boolean,
): Promise<'saved' | 'taken'> {
  const settings = { name: requireName(given), style: requireStyle(words), body }
  if (mayReplace && (await store.replace(accountId, settings))) return 'saved'
  const outcome = await store.save(accountId, settings)
  if (outcome !== 'too_many') return outcome
  const most = `You have ${MAX_SAVED_SETTINGS} saved settings, the most there may be`
  throw new AppError('invalid_request', `${most}: delete some first, or save under a name that you have.`)
}

/** @throws invalid_request, not_found */
export async function renameSettings(
  store: Pick<SavedSettingsStore, 'rename'>,
  accountId: string,
  id: string,
  name: string,
): Promise<void> {
  const outcome = await store.rename(accountId, id, requireName(name))
  if (outcome === 'taken')
    throw invalidParameter('name', `You have settings named "${name.trim()}": choose another name.`)
  if (outcome === 'none') throw new AppError('not_found', 'These settings are gone: choose others.')
}

function requireName(text: string): string {
  const name = text.trim()
  if (isLine(name, SETTINGS_NAME_LENGTH)) return name
  throw invalidParameter('name', `Give the settings a name of 1 to ${SETTINGS_NAME_LENGTH} characters, on one line.`)
}

function requireStyle(text: string): string {
  const style = text.trim()
  if (isStorable(style) && [...style].length <= STYLE_LENGTH) return style
  throw invalidParameter('style', `The style must be at most ${STYLE_LENGTH} characters of text.`)
}

/** A prompt with the words of a style at its end, once. */
export const styled = (prompt: string, style: string): string =>
  style === '' || prompt.endsWith(style) ? prompt : prompt.trim() === '' ? style : `${prompt}, ${style}`
