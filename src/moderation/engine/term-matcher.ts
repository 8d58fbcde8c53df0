import { type Cells, reversed, toCells } from './cells.js'
import { displayed, stripWeights, undisguise } from './normalize.js'
import { createPhraseFinder, isOrdinary, type Stretch } from './ordinary-phrases.js'
import { createTermSearch, type Match } from './term-search.js'
import { createTermTrie, toTerm } from './term-trie.js'

/** Words that mean one thing to a rule. */
export interface TermList {
  /**
   * Words or phrases in any alphabet, found as whole words (Latin ones with a plural s too), however disguised. A star
   * lets a word go on: `porn*`, `*porn*`. Chinese, Korean, Thai and hiragana, which don't part words, are found
   * anywhere.
   */
  readonly terms: readonly string[]
  /** Phrases, as written, in which the terms are harmless: "naked eye". Lists may share the same phrases. */
  readonly ordinary?: readonly string[]
  /** The terms are found as written only, not in look-alikes, because nobody disguises them. */
  readonly undisguised?: boolean
}

/** A term in a text, from its first to its last letter. */
interface Found {
  readonly list: TermList
  readonly written: string
  readonly start: number
  readonly end: number
}

/** One way of reading a text, with the terms found in it. */
interface Reading {
  readonly cells: Cells
  readonly found: readonly Found[]
}

// Short words read backwards are too often other words.
const MIN_REVERSED_LENGTH = 4
const NO_PHRASES: readonly string[] = []

/** Compiles lists into one linear search. `fillers` may stand between terms written together ("termandterm"). */
export function createTermMatcher(lists: readonly TermList[], fillers: readonly string[] = []) {
  const compiled = (terms: readonly string[], list: number) => terms.flatMap((term) => toTerm(term, list) ?? [])
  const terms = lists.flatMap((list, index) => (list.undisguised ? [] : compiled(list.terms, index)))
  const search = createTermSearch(createTermTrie([...terms, ...compiled(fillers, FILLER)]))
  const phrases = [...new Set(lists.map(({ ordinary }) => ordinary ?? NO_PHRASES))]
  const findPhrases = createPhraseFinder(phrases)
  const findUndisguised = createPhraseFinder(lists.map((list) => (list.undisguised ? list.terms : NO_PHRASES)))
  const phrasesOf = lists.map(({ ordinary }) => phrases.indexOf(ordinary ?? NO_PHRASES))

  return {
    /** The text as it is stored and, where they differ, as it is shown. */
    read: (text: string): Reading[] =>
      readingsOf(text).map((reading) => {
        const cells = toCells(reading)
        const stretches = findPhrases(cells)
        const found: Found[] = []
        const add = ({ list: index, written, start, end }: Stretch) => {
          const list = lists[index]
          if (!list || isOrdinary(stretches, { start, end, list: phrasesOf[index] as number })) return
          const last = found.at(-1)
          if (last?.end === end && last.written === written && last.list === list) return
          found.push({ list, written, start, end })
        }
        const note = ({ term, start, end }: Match) => add({ list: term.list, written: term.written, start, end })
        for (const stretch of findUndisguised(cells)) add(stretch)
        search(cells, note)
        search(reversed(cells, reading), (match) => {
          if (!match.pieced && match.term.symbols.length >= MIN_REVERSED_LENGTH) note(mirrored(cells, match))
        })
        return { cells, found }
      }),
  }
}

/** The terms found, as the lists write them, each once; lists without any are absent. */
export function termsIn(readings: readonly Reading[]): ReadonlyMap<TermList, readonly string[]> {
  const terms = new Map<TermList, string[]>()
  for (const { list, written } of readings.flatMap(({ found }) => found)) {
    const words = terms.get(list) ?? []
    if (!words.includes(written)) words.push(written)
    terms.set(list, words)
  }
  return terms
}

const FILLER = -1

function readingsOf(text: string): string[] {
  const shown = displayed(text)
  return (shown === undefined ? [text] : [text, shown]).map((reading) => stripWeights(undisguise(reading)))
}

function mirrored(cells: Cells, match: Match): Match {
  const last = cells.options.length - 1
  return { ...match, start: last - match.end, end: last - match.start }
}
