import { type Cells, GLUE, MARK, NO_GAP, SPACE } from './cells.js'
import { endsWord } from './ordinary-phrases.js'
import type { Term, TermTrie } from './term-trie.js'

export interface Match {
  readonly term: Term
  /** First and last letter. */
  readonly start: number
  readonly end: number
  /** Put together from pieces of several letters with spaces between them. */
  readonly pieced: boolean
}

// What a path through the trie has behind it.
const WORD_START = 1
const CROSSED = 2
const CROSSED_SPACE = 4
const LONG_PIECE = 8
const CHAINED = 16
// Something other than digits and marks standing in for letters: "1011" is no word.
const LETTERED = 32
const REPEATED = 64
const FLAG_WORDS = 128 / 32

// "s e x" is spelled out; "his ex" and "an all" are not: short terms, and letters repeated, cross a space only between
// single letters. Terms written together neither ("be between").
const PIECED = CROSSED_SPACE | LONG_PIECE
const SHORT_TERM = 4

/** Terms written together so far, as in "termterm", that count once the word ends with one. */
interface Chain {
  readonly match: Match
  readonly previous: Chain | undefined
  reported: boolean
}

/**
 * Follows every term through the text at once, in one pass. A path goes on
 * - with a letter that can be read as the next one, or as the same one again ("chiiild");
 * - across gaps, when the term begins and ends where words do ("c.h.i.l.d", "chi ld"), and through brackets;
 * - past a digit or mark that may be no letter;
 * - from the end of one term into the next, when a word is made of nothing but terms.
 * At one letter there is at most one path per node and set of flags, so the work is linear in the text.
 */
export function createTermSearch(trie: TermTrie): (cells: Cells, visit: (match: Match) => void) => void {
  // Per node: the last letter it was reached at, and a bit for each set of flags it was reached with there.
  const reachedAt = new Float64Array(trie.size)
  const reachedWith = new Int32Array(trie.size * FLAG_WORDS)
  let clock = 0
  let paths = createPaths()
  let next = createPaths()

  const keep = (node: number, flags: number, start: number, chain: Chain | undefined): boolean => {
    const word = node * FLAG_WORDS
    if (reachedAt[node] !== clock) {
      reachedAt[node] = clock
      reachedWith.fill(0, word, word + FLAG_WORDS)
    }
    const bit = 1 << (flags & 31)
    const reached = reachedWith[word + (flags >> 5)] as number
    if (reached & bit) return false
    reachedWith[word + (flags >> 5)] = reached | bit
    next.add(node, flags, start, chain)
    return true
  }

  /** Reports the terms that end with this letter, or lets the next one follow in the same word. */
  const finish = (search: Place, node: number, flags: number, start: number, chain: Chain | undefined) => {
    const { cells, at, visit } = search
    for (const term of trie.termsAt(node)) {
      const pieced = (flags & PIECED) === PIECED
      if (!(flags & LETTERED) || (pieced && (flags & REPEATED || term.symbols.length < SHORT_TERM))) continue
      const match = { term, start, end: at, pieced }
      if (endsWord(cells, at) || (term.openEnd && !(flags & CROSSED))) {
        if (chain && pieced) continue
        visit(match)
        report(chain, visit)
      } else if (flags & WORD_START && term.symbols.length > 2) {
        const linked = { match, previous: chain, reported: false }
        keep(trie.wordRoot, flags | CHAINED, -1, linked)
        keep(trie.anyRoot, flags | CHAINED, -1, linked)
      }
    }
  }

  const reach = (place: Place, node: number, flags: number, start: number, chain: Chain | undefined) => {
    if (keep(node, flags, start, chain) && trie.isEnd(node)) finish(place, node, flags, start, chain)
  }

  /** Every path that reads the letter, and those that begin with it. */
  const step = (place: Place) => {
    const { cells, at } = place
    const gap = cells.gaps[at] as number
    const piece = (cells.pieceLetters[at] as number) > 1 ? LONG_PIECE : 0
    const wordStart = (at === 0 || gap !== NO_GAP || cells.soft[at - 1] === 1) && cells.contraction[at] === 0
    const options = cells.options[at] as readonly number[]
    for (const symbol of options) {
      const gained = cells.soft[at] === 1 && symbol !== options[0] ? piece : piece | LETTERED
      for (let i = 0; i < paths.count; i++) {
        const node = paths.nodes[i] as number
        const flags = flagsAcross(paths.flags[i] as number, gap)
        if (flags === IMPASSABLE) continue
        const start = paths.starts[i] as number
        const child = trie.child(node, symbol)
        if (child !== undefined) reach(place, child, flags | gained, start < 0 ? at : start, paths.chains[i])
        if (gap <= GLUE && trie.symbolOf(node) === symbol)
          reach(place, node, flags | gained | REPEATED, start, paths.chains[i])
      }
      const flags = (wordStart ? WORD_START : 0) | gained
      const any = trie.child(trie.anyRoot, symbol)
      if (any !== undefined) reach(place, any, flags, at, undefined)
      const word = wordStart ? trie.child(trie.wordRoot, symbol) : undefined
      if (word !== undefined) reach(place, word, flags, at, undefined)
    }
  }

  /** The digit or mark taken as none: paths wait, as across a gap. */
  const skip = ({ cells, at }: Place) => {
    const gap = Math.max(MARK, cells.gaps[at] as number)
    for (let i = 0; i < paths.count; i++) {
      const flags = flagsAcross(paths.flags[i] as number, gap)
      if (flags !== IMPASSABLE) keep(paths.nodes[i] as number, flags, paths.starts[i] as number, paths.chains[i])
    }
  }

  return (cells, visit) => {
    paths.count = 0
    const place = { cells, at: 0, visit }
    for (; place.at < cells.options.length; place.at++) {
      clock++
      next.count = 0
      step(place)
      if (cells.soft[place.at]) skip(place)
      const done = paths
      paths = next
      next = done
    }
  }
}

/** The letter that a search is at. */
interface Place {
  readonly cells: Cells
  readonly at: number
  readonly visit: (match: Match) => void
}

/** A reusable row of paths, column by column: this is the innermost loop and must not allocate. */
function createPaths() {
  const nodes: number[] = []
  const flags: number[] = []
  const starts: number[] = []
  const chains: (Chain | undefined)[] = []
  return {
    count: 0,
    nodes,
    flags,
    starts,
    chains,
    add(node: number, flag: number, start: number, chain: Chain | undefined) {
      const i = this.count++
      nodes[i] = node
      flags[i] = flag
      starts[i] = start
      chains[i] = chain
    },
  }
}

const IMPASSABLE = -1

/** The flags of a path once it has crossed the gap, or `IMPASSABLE` for one that began inside a word. */
function flagsAcross(flags: number, gap: number): number {
  if (gap < MARK) return flags
  if (!(flags & WORD_START)) return IMPASSABLE
  return flags | CROSSED | (gap === SPACE ? CROSSED_SPACE : 0)
}

/** Each link once, however many words the chain runs on for: this keeps the search linear. */
function report(chain: Chain | undefined, visit: (match: Match) => void) {
  for (let link = chain; link && !link.reported; link = link.previous) {
    link.reported = true
    visit(link.match)
  }
}
