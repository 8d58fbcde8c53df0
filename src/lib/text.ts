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

// Where emoji, and letters of scripts that join them, need what is drawn as nothing.
const JOINED =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)(?:\u200d|\ufe0e|\ufe0f)|(?<=[#*0-9])\ufe0f(?=\u20e3)|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}]\p{M}*)[\u200c\u200d](?=\p{L})/gu

/**
 * Whether people see all of it, in its order: it has no control characters, none that change the direction of text, none
 * that are drawn as nothing or differently everywhere.
 */
export const isPlain = (text: string): boolean =>
  !/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(text.replace(JOINED, ''))

// Letters of other scripts that are drawn like Latin ones.
const DRAWN_LIKE = { from: 'авекмнорстухіјѕԁԛԝαεικνορτυχ', to: 'abekmhopctyxijsdqwaeikvoptux' }

/** The same for texts that people take for each other: of another case, with other blanks, letters that look alike. */
export const readingOf = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/./gu, (letter) => DRAWN_LIKE.to[DRAWN_LIKE.from.indexOf(letter)] ?? letter)
    .replace(/\s+/g, ' ')
    .trim()

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
