// biome-ignore lint/suspicious/noControlCharactersInRegex: "plain ASCII" is what is meant
const ASCII = /^[\x00-\x7f]*$/

// The tilde of ñ changes the word (niña is not Nina), so it is the only mark kept.
const N_WITH_MARKS = /(n)\p{M}+/giu
const COMBINING_TILDE = '\u0303'

// The sound marks of kana, and the vowel signs of Hindi, Bengali, Tamil and Thai after letters of theirs, are letters to
// their readers and stay; anywhere else they are as foreign as other marks.
const INVISIBLE =
  /(?![\u3099\u309a])(?!(?<=[\u0904-\u0939\u0985-\u09b9\u0b85-\u0bb9\u0e01-\u0e2e]\p{M}{0,3})[\u0900-\u094f\u0981-\u09d7\u0b82-\u0bd7\u0e31-\u0e4e])[\p{M}\p{Cf}\p{DI}]/gu
const STRAY_SOUND_MARK = /(?<![\u3041-\u30ff])[\u3099\u309a]+/gu

// The weights of prompt syntax: `(word:1.3)` becomes `(word)`. An age, `(age: 30)`, is no weight.
// Every repetition is bounded, so that no text makes these expressions slow.
const WEIGHT = /(?<!\bage[sd]?[ ]?):[ \t]{0,4}[-+]?\d{0,4}\.?\d{1,6}[ \t]{0,4}(?=[)\]}>])/gi
const BREAK_KEYWORD = /\bBREAK\b/g
// "1080x1350" is the size of an image, though "1350x" reads like a word whose letters are drawn as digits. Of fewer digits
// it may be one: "53x10".
const SIZE = /(?<![\p{L}\p{N}])\d{3,5}[ ]?[xх×][ ]?\d{3,5}(?:px|p)?(?![\p{L}\p{N}])/giu

// "age < 18", "-18" and "sub-16" are words, where they are all between two commas: not "-18 degrees", nor "steps < 18".
const BELOW =
  /(^|[,;(|\n])([ ]?(?:age[sd]?[ ]?:?[ ]?)?)(?:[<≤＜−-][ ]?=?|(?:sub|pre|minus)[- ])[ ]?(?=\d\d?[ ]?(?:$|[,;)|\n]))/gi

// Ages written short, where they are all between two commas: "f13" (f11 and f16 are apertures, "12 m" a distance), "16f",
// "17 and a half", "between 12 and 14"; and "13y" and schools that are "K-8" anywhere (K-5 is a camera).
const SHORT_AGE =
  /(?<=^|[,;(|\n])[ ]?(?:[fm][ ]?(1[02-57])|between (\d\d?) and \d\d?|from (\d\d?) to \d\d? years|(1[0-7])[ ]?[fy]|(\d\d?) and a half|(1[0-7]) 1\/2|(\d\d?)\.5 years)(?: years)?(?=[ ]?(?:$|[,;)|\n]))/gi
const YEARS = /(?<![\p{L}\p{N}.])(\d\d?)y(?![\p{L}\p{N}])/giu
const SCHOOL = /(?<![\p{L}\p{N}])K[-–](?:6|8|12)(?![\p{L}\p{N}])/gu

// A few characters stand for whole phrases (U+FDFA for 18 letters). They hide no word and are dropped, so that no text
// grows beyond four letters per character.
const NOT_ASCII = /\P{ASCII}/gu
const LONGEST_FORM = 4
const FRACTION = /[¼-¾⅐-⅟↉]/
/** Numbers in black and double circles, which have no compatibility forms: the first of a row, the last, its number. */
const CIRCLED = [
  ['⓫', '⓴', 11],
  ['⓵', '⓾', 1],
  ['❶', '❿', 1],
  ['➀', '➉', 1],
  ['➊', '➓', 1],
] as const

const decomposed = (character: string): string => {
  const circled = CIRCLED.find(([first, last]) => character >= first && character <= last)
  if (circled) return String((character.codePointAt(0) ?? 0) - circled[0].charCodeAt(0) + circled[2])
  // "10½" is ten and a half, not 101.
  if (FRACTION.test(character)) return ' '
  const form = character.normalize('NFKD')
  return form.length > LONGEST_FORM ? ' ' : form
}

// Letters drawn with several marks.
const DRAWN: Readonly<Record<string, string>> = { '|-|': 'h', '|_|': 'u', '|\\|': 'n' }
const DRAWN_LETTER = /\|[-_\\]\|/g

const OVERRIDDEN = /\u202e([^\u202c-\u202e\u2066-\u2069]*)/g

/**
 * Undoes disguises by encoding: compatibility forms (fullwidth, mathematical, circled …) become plain letters, marks
 * and invisible characters are removed. Letters keep their case and alphabet.
 */
export function undisguise(text: string): string {
  if (ASCII.test(text)) return text
  return text
    .replace(NOT_ASCII, decomposed)
    .normalize('NFD')
    .replace(N_WITH_MARKS, (marked, n: string) => (marked.includes(COMBINING_TILDE) ? 'ñ' : n))
    .replace(INVISIBLE, '')
    .replace(STRAY_SOUND_MARK, '')
    .normalize('NFKC')
}

/** The text as it is stored and, where right-to-left overrides reverse stretches of it, as it is shown; undisguised. */
export function readingsOf(text: string): string[] {
  const shown = text.replace(OVERRIDDEN, (_whole, stretch: string) => [...stretch].reverse().join(''))
  return [...new Set([text, shown])].map((reading) =>
    undisguise(reading)
      .replace(WEIGHT, '')
      .replace(BREAK_KEYWORD, ' ')
      .replace(SIZE, ' ')
      .replace(BELOW, '$1$2 under ')
      .replace(SHORT_AGE, (_whole, ...ages: (string | undefined)[]) => ` age ${ages.find((age) => age)}`)
      .replace(YEARS, '$1 yo')
      .replace(SCHOOL, 'schoolchild')
      .replace(DRAWN_LETTER, (drawn) => DRAWN[drawn] as string),
  )
}
