import { lettersOf } from './ages.js'
import { type Cells, NO_GAP } from './cells.js'

const LONGEST = 24
const ALPHABETIC = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]+$/u

/** The word that was meant; undefined for a word that is right or unknown. */
export type Spelling = (written: string) => string | undefined

/**
 * Knows each word with one letter dropped or added behind its first one, or swapped with the next.
 * @param words of some length: shorter ones are too near to too many others
 * @param others words that are right though they look like one of these: "seen"
 */
export function createSpelling(words: readonly string[], others: ReadonlySet<string>): Spelling {
  const known = new Set(words.filter((word) => ALPHABETIC.test(word)))
  const misspelt = new Map<string, string>()
  for (const word of known) {
    for (let at = 0; at < word.length - 1; at++) {
      if (at > 0) misspelt.set(without(word, at), word)
      misspelt.set(word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2), word)
    }
    misspelt.set(word.slice(0, -1), word)
  }
  return (written) => {
    if (written.length > LONGEST || known.has(written) || others.has(written)) return undefined
    const meant = misspelt.get(written)
    if (meant !== undefined) return meant
    // A word with an s more is its plural.
    for (let at = 1; at < written.length - Number(written.endsWith('s')); at++) {
      const shorter = without(written, at)
      if (known.has(shorter)) return shorter
    }
    return undefined
  }
}

const without = (word: string, at: number): string => word.slice(0, at) + word.slice(at + 1)

/** A text with its misspelt words put right. */
export interface Corrected {
  readonly cells: Cells
  /** Of each letter of the text, where it is now; of a word put right, where that begins. */
  readonly places: Uint32Array
  /** The words put right, from their first to their last letter. */
  readonly words: readonly { readonly start: number; readonly end: number }[]
}

/** The text with its misspelt words put right; undefined if it has none. */
export function corrected(cells: Cells, meant: Spelling): Corrected | undefined {
  const sources: number[] = []
  const symbols: (number | undefined)[] = []
  const places = new Uint32Array(cells.options.length)
  const words: { start: number; end: number }[] = []
  const isLetter = (at: number) => cells.soft[at] === 0
  for (let start = 0, end = 0; start < cells.options.length; start = end) {
    for (end = start + 1; end < cells.options.length && cells.gaps[end] === NO_GAP && isLetter(end); ) end++
    const right = isLetter(start) && end - start <= LONGEST ? meant(lettersOf(cells, start, end - 1)) : undefined
    const letters = right === undefined ? undefined : [...right]
    const begin = sources.length
    for (let at = start; at < end; at++) places[at] = letters ? begin : begin + at - start
    for (let i = 0; i < (letters?.length ?? end - start); i++) {
      sources.push(Math.min(start + i, end - 1))
      symbols.push(letters?.[i]?.codePointAt(0))
    }
    if (letters) words.push({ start: begin, end: sources.length - 1 })
  }
  if (words.length === 0) return undefined
  const copied = <A extends Uint8Array | Uint16Array>(from: A): A => {
    const to = new (from.constructor as new (length: number) => A)(sources.length)
    for (const [i, source] of sources.entries()) to[i] = from[source] as number
    return to
  }
  const gaps = copied(cells.gaps)
  // A word that has become longer repeats its last letter's facts, not its gap.
  for (const [i, source] of sources.entries()) if (source === sources[i - 1]) gaps[i] = NO_GAP
  const options = sources.map((source, i) => {
    const symbol = symbols[i]
    return symbol === undefined ? (cells.options[source] as readonly number[]) : [symbol]
  })
  const facts = { soft: copied(cells.soft), pieceLetters: copied(cells.pieceLetters) }
  const borders = { clauses: copied(cells.clauses), sentences: copied(cells.sentences) }
  return { cells: { options, gaps, ...facts, ...borders, contraction: copied(cells.contraction) }, places, words }
}
