/** What a plan may be called. */
import { isLine, isPlain } from '../../lib/text.js'

const MAX_NAME_LENGTH = 100

/** A plan's name as it is kept, of what somebody has written. */
export const toPlanName = (text: string): string => text.trim().normalize('NFC')

/** Why it cannot be a plan's name: the end of a sentence without its full stop. Undefined: it can be one. */
export function planNameProblem(name: string): string | undefined {
  if (!isLine(name, MAX_NAME_LENGTH)) return `must be one line of 1 to ${MAX_NAME_LENGTH} characters`
  if (name.includes('\ufffd')) return 'has letters that are not in UTF-8: write them again, or save the file as UTF-8'
  return isPlain(name)
    ? undefined
    : 'must have no characters that nobody sees or that change the direction of text: write it again'
}
