import { type Cells, GLUE, MARK, NO_GAP, SPACE } from './cells.js'
import { endsWord } from './ordinary-phrases.js'
import { bitOf, type Match, type TermTrie } from './term-trie.js'

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
const FLAG_WORDS = 128 / 32
// By set of losses, a bit for each of its subsets.
const NO_MORE_LOSSES = Int32Array.from({ length: LOSSES + 1 }, (_none, losses) => {
  let sets = 0
  for (let set = 0; set <= LOSSES; set++) if ((set & losses) === set) sets |= 1 << set
  return sets
})

// "s e x" is spelled out; "his ex" and "an all" are not: short terms, and letters repeated, cross a space only between
// single letters. Terms written together neither ("be between").
const PIECED = CROSSED_SPACE | LONG_PIECE
const SHORT_TERM = 4
const SHORTEST_JOINED = 3

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
 * At one letter there is at most one path per node and set of flags, and none that has but more losses than another, so
 * the work is linear in the text.
 */
export function createTermSearch(trie: TermTrie): (cells: Cells, visit: (match: Match) => void) => void {
  // Per node and flags that are no losses: the last letter it was reached at, and a bit for each set of losses there.
  const reachedAt = new Float64Array(trie.size * FLAG_WORDS)
  const reachedWith = new Int32Array(trie.size * FLAG_WORDS)
  let clock = 0
  let paths = createPaths()
  let next = createPaths()

  const keep = (node: number, flags: number, start: number, chain: Chain | undefined): boolean => {
    if ((flags & PIECED) === PIECED && flags & (REPEATED | CHAINED)) return false
    const word = node * FLAG_WORDS + (flags >> 5)
    const reached = reachedAt[word] === clock ? (reachedWith[word] as number) : 0
    if (reached & (NO_MORE_LOSSES[flags & LOSSES] as number)) return false
    reachedAt[word] = clock
    reachedWith[word] = reached | (1 << (flags & LOSSES))
    next.add(node, flags, start, chain)
    return true
  }

  return (cells, visit) => {
    let at = 0

    /** Keeps a path, and reports the terms that end with this letter, or lets the next one follow in the same word. */
    const reach = (node: number, flags: number, start: number, chain: Chain | undefined) => {
      if (!keep(node, flags, start, chain)) return
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
      keep(trie.wordRoot, flags | CHAINED, -1, link)
      keep(trie.anyRoot, flags | CHAINED, -1, link)
    }

    /** Every path that reads the letter, and those that begin with it. */
    const step = () => {
      const gap = cells.gaps[at] as number
      const piece = (cells.pieceLetters[at] as number) > 1 ? LONG_PIECE : 0
      const wordStart = (at === 0 || gap !== NO_GAP || cells.soft[at - 1] === 1) && cells.contraction[at] === 0
      const options = cells.options[at] as readonly number[]
      const soft = cells.soft[at] === 1
      let offered = 0
      for (let o = 0; o < options.length; o++) offered |= bitOf(options[o] as number)
      for (let i = 0; i < paths.count; i++) {
        const node = paths.nodes[i] as number
        const own = gap <= GLUE ? trie.symbolOf(node) : 0
        if ((offered & (trie.beginningsOf(node) | bitOf(own))) === 0) continue
        const flags = flagsAcross(paths.flags[i] as number, gap)
        if (flags === IMPASSABLE) continue
        const start = paths.starts[i] as number
        for (let o = 0; o < options.length; o++) {
          const symbol = options[o] as number
          const gained = (soft && o > 0 ? flags : flags & ~UNLETTERED) | piece
          const child = trie.child(node, symbol)
          if (child !== undefined) reach(child, gained, start < 0 ? at : start, paths.chains[i])
          if (symbol === own) reach(node, gained | REPEATED, start, paths.chains[i])
        }
      }
      for (let o = 0; o < options.length; o++) {
        const symbol = options[o] as number
        const flags = (wordStart ? 0 : INSIDE_WORD) | (soft && o > 0 ? UNLETTERED : 0) | piece
        const any = trie.child(trie.anyRoot, symbol)
        if (any !== undefined) reach(any, flags, at, undefined)
        const word = wordStart ? trie.child(trie.wordRoot, symbol) : undefined
        if (word !== undefined) reach(word, flags, at, undefined)
      }
    }

    /** Skips a digit or mark like a gap: paths stay where they are. */
    const skip = () => {
      const gap = Math.max(MARK, cells.gaps[at] as number)
      for (let i = 0; i < paths.count; i++) {
        const flags = flagsAcross(paths.flags[i] as number, gap)
        if (flags !== IMPASSABLE) keep(paths.nodes[i] as number, flags, paths.starts[i] as number, paths.chains[i])
      }
    }

    paths.count = 0
    for (; at < cells.options.length; at++) {
      clock++
      next.count = 0
      step()
      if (cells.soft[at]) skip()
      ;[paths, next] = [next, paths]
    }
  }
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
  if (flags & INSIDE_WORD) return IMPASSABLE
  return flags | CROSSED | (gap === SPACE ? CROSSED_SPACE : 0)
}

/** Each link once, however many words the chain runs on for: this keeps the search linear. */
function report(chain: Chain | undefined, visit: (match: Match) => void) {
  for (let link = chain; link && !link.reported; link = link.previous) {
    link.reported = true
    visit(link.match)
  }
}
