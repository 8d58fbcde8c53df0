import { type Cells, GLUE, MARK, NO_GAP, SPACE } from './cells.js'
import { createTermTrie, type Match, NO_NODE, type TermNode, type TermTrie, toPhrase, WORD_GAP } from './term-trie.js'

// Flags of a path through the trie. Each of the first five is a loss: it can only reduce what the path may find.
const CROSSED = 1
const CROSSED_SPACE = 2
const LONG_PIECE = 4
const REPEATED = 8
// Nothing but digits and marks standing in for letters so far: "1011" is no word.
const UNLETTERED = 16
const INSIDE_WORD = 32
const CHAINED = 64
const LOSSES = 31

// "s e x" is spelled out; "his ex" and "an all" are not: short terms, and letters repeated, cross a space only between
// single letters. Terms written together neither ("be between").
const PIECED = CROSSED_SPACE | LONG_PIECE
const SHORT_TERM = 4
const SHORTEST_JOINED = 3

/** Ordinary text takes 4 steps a letter, and a word with every letter in disguise 20. */
const STEPS_PER_LETTER = 16
const MAX_BUDGET = 500

/** What the text may hold so far. */
interface Path {
  readonly node: TermNode
  readonly flags: number
  /** Its first letter; -1 where none was read yet. */
  readonly start: number
  readonly chain: Chain | undefined
}

/** Terms written together so far, as in "termterm", that count once the word ends with one. */
interface Chain {
  readonly match: Match
  readonly previous: Chain | undefined
  reported: boolean
}

/**
 * Follows all terms through the text in one pass. A path continues
 * - with a letter that can be read as the next one, or as the same one again ("chiiild");
 * - across gaps, when the term begins and ends where words do ("c.h.i.l.d", "chi ld"), and through brackets;
 * - past a digit or mark that may be no letter;
 * - from the end of one term into the next, when a word is made of nothing but terms.
 * At one letter there is at most one path per node and set of flags, and none that has but more losses than another.
 * Each letter adds to a budget of steps, and each step takes one from it, so that the cost grows with the text's length
 * alone: "s*s*s*…" can be read as the beginning of hundreds of words at once. When the budget is used up, the letter's
 * remaining readings are dropped. Those in disguise come last; a disguised word needs only a few steps a letter.
 */
export function searchTerms(trie: TermTrie, cells: Cells, visit: (match: Match) => void): void {
  let paths: Path[] = []
  let next: Path[] = []
  let at = 0
  let budget = MAX_BUDGET
  // The flags of the paths that are at each node with this letter.
  const reached = new Map<TermNode, number[]>()

  const keep = (path: Path): boolean => {
    const { node, flags } = path
    if ((flags & PIECED) === PIECED && flags & (REPEATED | CHAINED)) return false
    const others = reached.get(node)
    if (others?.some((other) => (other | LOSSES) === (flags | LOSSES) && (other & ~flags) === 0)) return false
    if (others) others.push(flags)
    else reached.set(node, [flags])
    next.push(path)
    return true
  }

  /** Keeps a path, and reports the terms that end with this letter, or lets the next one follow in the same word. */
  const reach = (path: Path) => {
    if (!keep(path)) return
    const { node, flags, start, chain } = path
    let link = chain
    for (const term of trie.termsAt(node)) {
      const pieced = (flags & PIECED) === PIECED
      if (flags & UNLETTERED || (pieced && term.symbols.length < SHORT_TERM)) continue
      const match = { term, start, end: at, pieced }
      if (endsWord(cells, at) || (term.openEnd && !(flags & CROSSED))) {
        if (chain && term.symbols.length < SHORTEST_JOINED) continue
        visit(match)
        report(chain, visit)
      } else if (!(flags & INSIDE_WORD) && term.symbols.length >= SHORTEST_JOINED) {
        // A word of several languages goes on as each of them.
        link = { match, previous: link, reported: false }
      }
    }
    if (link === chain) return
    for (const root of [trie.wordRoot, trie.anyRoot])
      keep({ node: root, flags: flags | CHAINED, start: -1, chain: link })
  }

  /** Every path that reads the letter, and those that begin with it: first as it is written, then in disguise. */
  const step = () => {
    const gap = cells.gaps[at] as number
    const piece = (cells.pieceLetters[at] as number) > 1 ? LONG_PIECE : 0
    const wordStart = (at === 0 || gap !== NO_GAP || cells.soft[at - 1] === 1) && cells.contraction[at] === 0
    const options = cells.options[at] as readonly number[]
    const soft = cells.soft[at] === 1
    for (const symbol of options) {
      const disguised = soft && symbol !== options[0]
      const flags = (wordStart ? 0 : INSIDE_WORD) | (disguised ? UNLETTERED : 0) | piece
      begin(trie.anyRoot, symbol, flags)
      if (wordStart) begin(trie.wordRoot, symbol, flags)
    }
    for (const symbol of options) {
      const disguised = soft && symbol !== options[0]
      for (const { node, flags: before, start, chain } of paths) {
        if (budget-- <= 0) return
        const flags = flagsAcross(before, gap)
        if (flags === undefined) continue
        const gained = (disguised ? flags : flags & ~UNLETTERED) | piece
        const child = trie.childOf(node, symbol)
        if (child !== NO_NODE) reach({ node: child, flags: gained, start: start < 0 ? at : start, chain })
        if (symbol === trie.symbolOf(node) && gap <= GLUE) reach({ node, flags: gained | REPEATED, start, chain })
      }
    }
  }

  const begin = (root: TermNode, symbol: number, flags: number) => {
    budget--
    const node = trie.childOf(root, symbol)
    if (node !== NO_NODE) reach({ node, flags, start: at, chain: undefined })
  }

  /** Skips a digit or mark like a gap: paths stay where they are. */
  const skip = () => {
    const gap = Math.max(MARK, cells.gaps[at] as number)
    for (const path of paths) {
      if (budget-- <= 0) return
      const flags = flagsAcross(path.flags, gap)
      if (flags !== undefined) keep({ ...path, flags })
    }
  }

  for (; at < cells.options.length; at++) {
    // Not for nothing: clearing makes a new table each time.
    if (reached.size > 0) reached.clear()
    next = []
    budget = Math.min(Math.max(0, budget) + STEPS_PER_LETTER, MAX_BUDGET)
    step()
    if (cells.soft[at]) skip()
    paths = next
  }
}

/** The flags of a path once it has crossed the gap; undefined for one that began inside a word, which can't. */
function flagsAcross(flags: number, gap: number): number | undefined {
  if (gap < MARK) return flags
  if (flags & INSIDE_WORD) return undefined
  return flags | CROSSED | (gap === SPACE ? CROSSED_SPACE : 0)
}

/** Each link once, however many words the chain runs on for: this keeps the search linear. */
function report(chain: Chain | undefined, visit: (match: Match) => void) {
  for (let link = chain; link && !link.reported; link = link.previous) {
    link.reported = true
    visit(link.match)
  }
}

/** Finds the phrases of lists, as they are written. */
export function createPhraseFinder(lists: readonly (readonly string[])[]): (cells: Cells) => Match[] {
  const trie = createTermTrie(
    lists.flatMap((phrases, list) => phrases.flatMap((phrase) => toPhrase(phrase, list) ?? [])),
  )
  return (cells) => {
    const { options, gaps, soft } = cells
    const found: Match[] = []
    /** Walks along the text, no further than the longest phrase, so that the search stays linear. */
    const follow = (root: TermNode, start: number) => {
      let node = root
      for (let end = start; end < options.length; end++) {
        if (end > start && gaps[end] !== NO_GAP) node = trie.childOf(node, WORD_GAP)
        node = trie.childOf(node, options[end]?.[0] as number)
        if (node === NO_NODE) return
        for (const term of trie.termsAt(node)) {
          if (term.openEnd || endsWord(cells, end)) found.push({ term, start, end, pieced: false })
        }
      }
    }
    for (let start = 0; start < options.length; start++) {
      if (start === 0 || gaps[start] !== NO_GAP || soft[start - 1] === 1) follow(trie.wordRoot, start)
      follow(trie.anyRoot, start)
    }
    return found
  }
}

/** Whether a word can end with this letter. */
const endsWord = (cells: Cells, at: number): boolean =>
  at === cells.options.length - 1 || cells.gaps[at + 1] !== NO_GAP || cells.soft[at + 1] === 1
