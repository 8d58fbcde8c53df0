import { type Cells, MARK, NO_GAP } from './cells.js'
import { type Term, toTerm } from './term-trie.js'

/** How an age is written. */
export interface Ages {
  /** Ages under this one count; at most 100. */
  readonly below: number
  /** The number words, from zero on: at index n the word for n. */
  readonly words: readonly string[]
  /** Words in front of a number word that make it a larger number ("twenty one", "hundred and one"). */
  readonly tens: readonly string[]
  /** Words after a number word that make it a larger number ("five hundred"). */
  readonly manyfold: readonly string[]
  /** What follows a number of years: "year old", "yo". */
  readonly units: readonly string[]
  /** What follows a number of shorter stretches, where any number of two digits counts: "months old". */
  readonly youngUnits: readonly string[]
  /** What comes before the number: "age", "aged". */
  readonly leads: readonly string[]
}

/** A number in digits and words of this many letters at most are looked at beside a match. */
const REACH = 24

/** The terms to search for. A match of one is an age only if `ageOf` says so. */
export function ageTerms({ below, words, units, youngUnits, leads }: Ages, list: number): (Term | undefined)[] {
  const spelled = words.slice(0, below)
  return [
    ...[...units, ...youngUnits].map((unit) => toTerm(unit, list, 'before')),
    ...leads.map((lead) => toTerm(lead, list, 'after')),
    ...spelled.flatMap((word) => [...units, ...youngUnits].map((unit) => toTerm(`${word} ${unit}`, list, 'within'))),
    ...spelled.flatMap((word) => leads.map((lead) => toTerm(`${lead} ${word}`, list, 'within'))),
  ]
}

/** Tells which matches of age terms are ages under the limit, as the reader is to see them; undefined for the others. */
export function createAgeReader(ages: Ages) {
  const young = new Set(ages.youngUnits)
  const larger = {
    before: new RegExp(`\\b(${ages.tens.join('|')})( and)?$`),
    after: new RegExp(`^(${ages.manyfold.join('|')})\\b`),
  }
  return (cells: Cells, { term, start, end }: { term: Term; start: number; end: number }): string | undefined => {
    if (term.number === 'within') {
      const isLarger = larger.before.test(lettersBefore(cells, start)) || larger.after.test(lettersAfter(cells, end))
      return isLarger ? undefined : term.written
    }
    const digits = term.number === 'before' ? digitsBefore(cells, start) : digitsAfter(cells, end)
    // "1,012 years old" is no age of 12: a group of thousands has three digits, an age at most two.
    if (digits === '' || digits.length > 2) return undefined
    if (Number(digits) >= ages.below && !young.has(term.written)) return undefined
    return term.number === 'before' ? `${Number(digits)} ${term.written}` : `${term.written} ${Number(digits)}`
  }
}

function digitsBefore(cells: Cells, start: number): string {
  let digits = ''
  for (let at = start - 1; isDigit(cells, at) && digits.length < 4; at--) {
    digits = `${plain(cells, at)}${digits}`
    if (cells.gaps[at] !== NO_GAP) break
  }
  return digits
}

function digitsAfter(cells: Cells, end: number): string {
  let digits = ''
  for (let at = end + 1; isDigit(cells, at) && digits.length < 4; at++) {
    if (at > end + 1 && (cells.gaps[at] as number) >= MARK) break
    digits += plain(cells, at)
  }
  const next = end + 1 + digits.length
  // "12th century", "4k"
  const goesOn = next < cells.options.length && cells.gaps[next] === NO_GAP
  return goesOn ? '' : digits
}

function lettersBefore(cells: Cells, start: number): string {
  let letters = ''
  for (let at = start - 1; at >= Math.max(0, start - REACH); at--) {
    letters = `${plain(cells, at)}${cells.gaps[at + 1] !== NO_GAP && letters !== '' ? ' ' : ''}${letters}`
  }
  return letters
}

function lettersAfter(cells: Cells, end: number): string {
  let letters = ''
  for (let at = end + 1; at < Math.min(cells.options.length, end + REACH); at++) {
    letters += `${cells.gaps[at] !== NO_GAP && letters !== '' ? ' ' : ''}${plain(cells, at)}`
  }
  return letters
}

const plain = (cells: Cells, at: number): string => String.fromCodePoint(cells.options[at]?.[0] as number)

function isDigit(cells: Cells, at: number): boolean {
  const symbol = cells.options[at]?.[0]
  return symbol !== undefined && symbol >= 0x30 && symbol <= 0x39
}
