import { type Cells, cut, reversed, toCells } from './cells.js'
import { readingsOf } from './normalize.js'
import type { Corrected } from './spelling.js'
import { createPhraseFinder, searchTerms } from './term-search.js'
import { createTermTrie, type Match, toTerm } from './term-trie.js'

/** Words that mean one thing to a rule. */
export interface TermList {
  /**
   * Found as whole words (Latin ones with a plural s too), however disguised. A star lets one go on: `porn*`, `*porn*`.
   * Chinese, Korean, Thai and hiragana, which don't part words, are found anywhere.
   */
  readonly terms: readonly string[]
  /** Phrases, as written, in which the terms are harmless: "naked eye". Lists may share the same phrases. */
  readonly ordinary?: readonly string[]
  /** The terms are found as written only, not in look-alikes, because nobody disguises them. */
  readonly undisguised?: boolean
}

/** A term in a text, from its first to its last letter. */
interface Found<List> {
  readonly list: List
  readonly written: string
  readonly start: number
  readonly end: number
}

/** Each way of reading a text, forwards and backwards. */
export type ReadText = readonly { readonly cells: Cells; readonly backwards: Cells }[]

/** Reads a text as it is stored and, where they differ, as it is shown. Any number of matchers can search it. */
export const readText = (text: string): ReadText =>
  readingsOf(text).map((reading) => {
    const cells = toCells(reading)
    return { cells, backwards: reversed(cells) }
  })

/** One way of reading a text, with the terms found in it. */
interface Reading<List> {
  readonly cells: Cells
  readonly found: readonly Found<List>[]
}

// Short words read backwards are too often other words.
const MIN_REVERSED_LENGTH = 4
const NO_PHRASES: readonly string[] = []
/** In place of a list's index. */
const FILLER = -1
/** How many letters beside a word put right are read again: more than any term with an ordinary phrase around it has. */
const READ_AGAIN = 100

/** Compiles lists into one linear search. `fillers` may stand between terms written together ("termandterm"). */
export function createTermMatcher<List extends TermList>(lists: readonly List[], fillers: readonly string[] = []) {
  const compiled = (terms: readonly string[], list: number) => terms.flatMap((term) => toTerm(term, list) ?? [])
  const terms = lists.flatMap((list, index) => (list.undisguised ? [] : compiled(list.terms, index)))
  const trie = createTermTrie([...terms, ...compiled(fillers, FILLER)])
  const phrases = [...new Set(lists.map(({ ordinary }) => ordinary ?? NO_PHRASES))]
  const findPhrases = createPhraseFinder(phrases)
  const findUndisguised = createPhraseFinder(lists.map((list) => (list.undisguised ? list.terms : NO_PHRASES)))
  const phrasesOf = lists.map(({ ordinary }) => phrases.indexOf(ordinary ?? NO_PHRASES))

  const foundIn = ({ cells, backwards }: ReadText[number]): Found<List>[] => {
    const inOneClause = findPhrases(cells).filter(({ start, end }) => cells.clauses[start] === cells.clauses[end])
    const ordinary = furthestEnds(inOneClause, phrases.length, cells.options.length)
    const found: Found<List>[] = []
    const note = ({ term: { list: index, written }, start, end }: Match) => {
      const list = lists[index]
      if (!list || end <= (ordinary[phrasesOf[index] as number]?.[start] as number)) return
      const last = found.at(-1)
      if (last?.end === end && last.written === written && last.list === list) return
      found.push({ list, written, start, end })
    }
    findUndisguised(cells).forEach(note)
    searchTerms(trie, cells, note)
    const final = cells.options.length - 1
    searchTerms(trie, backwards, ({ term, start, end, pieced }) => {
      if (pieced || term.symbols.length < MIN_REVERSED_LENGTH) return
      note({ term, start: final - end, end: final - start, pieced })
    })
    return found
  }
  return {
    search: (text: ReadText): Reading<List>[] =>
      text.map((reading) => ({ cells: reading.cells, found: foundIn(reading) })),

    /**
     * What a reading holds once its words are put right. Reads again only what is around these: one misspelt word must
     * not double the cost of a long text.
     */
    searchCorrected({ found: before }: Reading<List>, { cells, places, words }: Corrected): Reading<List> {
      const isAround = touching(words, cells.options.length)
      const kept = before
        .map((it) => ({ ...it, start: places[it.start] as number, end: places[it.end] as number }))
        .filter((it) => !isAround(it))
      const again = stretchesAround(words, cells.options.length).flatMap(({ start: from, end: to }) => {
        const stretch = cut(cells, from, to)
        return foundIn({ cells: stretch, backwards: reversed(stretch) })
          .map((it) => ({ ...it, start: it.start + from, end: it.end + from }))
          .filter(isAround)
      })
      return { cells, found: [...kept, ...again] }
    },
  }
}

/** Whether something has a letter of the words. Counted beforehand: a term's letters may be repeated without end. */
function touching(words: Corrected['words'], length: number) {
  const lettersBefore = new Uint32Array(length + 1)
  for (const { start, end } of words) lettersBefore.fill(1, start + 1, end + 2)
  for (let at = 1; at <= length; at++) (lettersBefore[at] as number) += lettersBefore[at - 1] as number
  return ({ start, end }: { readonly start: number; readonly end: number }): boolean =>
    lettersBefore[end + 1] !== lettersBefore[start]
}

/** What is to be read again, each letter once. */
function stretchesAround(words: Corrected['words'], length: number): { start: number; end: number }[] {
  const stretches: { start: number; end: number }[] = []
  for (const word of words) {
    const [start, end] = [Math.max(0, word.start - READ_AGAIN), Math.min(length, word.end + 1 + READ_AGAIN)]
    const last = stretches.at(-1)
    if (last && start <= last.end) last.end = end
    else stretches.push({ start, end })
  }
  return stretches
}

/** By list of phrases, how far the phrases that begin at each letter or before it reach; -1: there are none. */
function furthestEnds(stretches: readonly Match[], lists: number, length: number): readonly Int32Array[] {
  const ends = Array.from({ length: lists }, () => new Int32Array(length).fill(-1))
  for (const { term, start, end } of stretches) {
    const reached = ends[term.list] as Int32Array
    reached[start] = Math.max(reached[start] as number, end)
  }
  for (const reached of ends) {
    for (let at = 1; at < length; at++) reached[at] = Math.max(reached[at] as number, reached[at - 1] as number)
  }
  return ends
}

/** The terms found, as the lists write them, each once; lists without any are absent. */
export function termsIn(readings: readonly Reading<TermList>[]): ReadonlyMap<TermList, readonly string[]> {
  const terms = new Map<TermList, string[]>()
  for (const { list, written } of readings.flatMap(({ found }) => found)) {
    const words = terms.get(list) ?? []
    if (!words.includes(written)) words.push(written)
    terms.set(list, words)
  }
  return terms
}
