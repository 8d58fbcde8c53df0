/** What text may be that others have written. */

/** Whether Postgres keeps it as it is: it stores no NUL, and would write one lone surrogate like another. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** The same without what Postgres does not keep: of somebody else's program, for people to read. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

// Letters and symbols that are drawn as nothing.
const BLANK = /[\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/gu

/** Whether there is nothing to see in it. Pictographs count that are newer than this Node. */
export const isBlank = (text: string): boolean =>
  !/[\p{L}\p{N}\p{P}\p{S}\p{Extended_Pictographic}]/u.test(text.replace(BLANK, ''))

/** Whether people can read it as one line of up to so many characters: there is something to see in it. */
export const isLine = (text: string, maxLength: number): boolean =>
  isStorable(text) && [...text].length <= maxLength && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) && !isBlank(text)

/** As much of a text as has a place; `…` says that there is more. @param length in characters */
export function beginningOf(text: string, length: number): string {
  const letters = [...text]
  return letters.length > length ? `${letters.slice(0, length).join('')}…` : text
}

// Control characters but the line end, and those that change the direction of text.
const UNPRINTABLE = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** For a terminal, which would act on some characters, or show others in their place: those are written as JSON may. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
