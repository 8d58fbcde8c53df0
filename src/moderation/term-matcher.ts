import { type Ages, ageTerms, createAgeReader } from './ages.js'
import { type Cells, reversed, toCells } from './cells.js'
import { displayed, stripWeights, undisguise } from './normalize.js'
import { createPhraseFinder, isOrdinary } from './ordinary-phrases.js'
import { createTermSearch, type Match } from './term-search.js'
import { createTermTrie, type Term, toTerm } from './term-trie.js'

/** Words that mean one thing to a rule. */
export interface TermList {
  /**
   * Words or phrases in any alphabet, found as whole words (Latin ones with a plural s too), however disguised. A star
   * lets a word go on: `porn*`, `*porn*`. Chinese, Korean and hiragana, which don't part words, are found anywhere.
   */
  readonly terms: readonly string[]
  /** Phrases, as written, in which the terms are harmless: "naked eye". They excuse this list's terms only. */
  readonly ordinary?: readonly string[]
  /** Ages that count as a term. */
  readonly ages?: Ages
}

export interface TermMatcher {
  /** The terms found, as the lists write them, each once; lists without any are absent. */
  find(text: string): ReadonlyMap<TermList, readonly string[]>
}

// Short words read backwards are too often other words.
const SHORTEST_REVERSED = 4

/**
 * Compiles lists into one search, linear in the text. `fillers` are words that may stand between terms written together
 * ("termandterm").
 */
export function createTermMatcher(lists: readonly TermList[], fillers: readonly string[] = []): TermMatcher {
  const terms = lists.flatMap((list, index) => [
    ...list.terms.map((term) => toTerm(term, index)),
    ...(list.ages ? ageTerms(list.ages, index) : []),
  ])
  const fillerTerms = fillers.map((filler) => toTerm(filler, FILLER))
  const search = createTermSearch(createTermTrie([...terms, ...fillerTerms].filter((term) => term !== undefined)))
  const ageReaders = lists.map(({ ages }) => ages && createAgeReader(ages))
  const findPhrases = createPhraseFinder(lists.map(({ ordinary }) => ordinary ?? []))

  return {
    find(text) {
      const found = new Map<TermList, string[]>()
      const note = (term: Term, shown: string) => {
        const list = lists[term.list]
        if (!list) return
        const words = found.get(list) ?? []
        if (!words.includes(shown)) words.push(shown)
        found.set(list, words)
      }
      for (const reading of readingsOf(text)) {
        const cells = toCells(reading)
        const stretches = findPhrases(cells)
        search(cells, (match) => {
          const shown = match.term.number ? ageReaders[match.term.list]?.(cells, match) : match.term.written
          if (shown !== undefined && !isOrdinary(stretches, match)) note(match.term, shown)
        })
        search(reversed(cells, reading), (match) => {
          const forward = turnedRound(cells, match)
          if (match.pieced || match.term.number || match.term.symbols.length < SHORTEST_REVERSED) return
          if (!isOrdinary(stretches, forward)) note(match.term, match.term.written)
        })
      }
      return found
    },
  }
}

const FILLER = -1

function readingsOf(text: string): string[] {
  const shown = displayed(text)
  return (shown === undefined ? [text] : [text, shown]).map((reading) => stripWeights(undisguise(reading)))
}

function turnedRound(cells: Cells, match: Match): Match {
  const last = cells.options.length - 1
  return { ...match, start: last - match.end, end: last - match.start }
}
