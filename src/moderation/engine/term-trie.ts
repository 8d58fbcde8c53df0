import { type Cells, NO_GAP, toCells } from './cells.js'
import { sharedForm } from './lookalikes.js'
import { undisguise } from './normalize.js'

export type TermTrie = ReturnType<typeof createTermTrie>

export interface Term {
  /** As the rules write it, without stars. */
  readonly written: string
  /** The index of its list. */
  readonly list: number
  /** `*term`: may begin inside a word. */
  readonly openStart: boolean
  /** `term*`: may end inside a word. */
  readonly openEnd: boolean
  readonly symbols: readonly number[]
}

/** A term in a text. */
export interface Match {
  readonly term: Term
  /** First and last letter. */
  readonly start: number
  readonly end: number
  /** Assembled from pieces of several letters with spaces between them. */
  readonly pieced: boolean
}

export const WORD_GAP = 0x20

// Written without spaces between words, so that a term begins and ends anywhere; emoji likewise.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}\p{Script=Thai}\p{Extended_Pictographic}]/u
const STARS = /^\*|\*$/g
const LATIN_WORD = /^[a-zñ ]{3,}$/u

/** A term as rules write it, with a star where it may go on in a longer word; undefined if nothing readable is left. */
export const toTerm = (written: string, list: number): Term | undefined =>
  compiled(written, list, ({ options }) => options.map(([plain]) => sharedForm(plain as number)))

/** A phrase that is to be found as written only; its symbols have a `WORD_GAP` between words. */
export const toPhrase = (written: string, list: number): Term | undefined =>
  compiled(written, list, ({ options, gaps }) =>
    options.flatMap(([plain], i) => [...(gaps[i] === NO_GAP ? [] : [WORD_GAP]), plain as number]),
  )

function compiled(written: string, list: number, read: (cells: Cells) => number[]): Term | undefined {
  const bare = written.replace(STARS, '')
  const plain = undisguise(bare)
  const symbols = read(toCells(plain))
  if (symbols.length === 0) return undefined
  const unspaced = UNSPACED.test(plain)
  const [openStart, openEnd] = [unspaced || written.startsWith('*'), unspaced || written.endsWith('*')]
  return { written: bare, list, openStart, openEnd, symbols }
}

/** A symbol (code point) on the way to the end of a term. */
export interface TermNode {
  /** 0 at the roots. */
  readonly symbol: number
  readonly children: Map<number, TermNode>
  /** Those that end here. */
  readonly terms: Term[]
}

/**
 * A tree of the terms' symbols with two roots: for terms that begin a word, and for those that need not. A term that
 * ends in a Latin letter is also found with a plural s.
 */
export function createTermTrie(terms: readonly Term[]) {
  const grow = (symbol: number): TermNode => ({ symbol, children: new Map(), terms: [] })
  const [wordRoot, anyRoot] = [grow(0), grow(0)]
  const add = (path: readonly number[], term: Term) => {
    let node = term.openStart ? anyRoot : wordRoot
    for (const symbol of path) {
      const next = node.children.get(symbol) ?? grow(symbol)
      node.children.set(symbol, next)
      node = next
    }
    if (!node.terms.includes(term)) node.terms.push(term)
  }
  for (const term of terms) {
    add(term.symbols, term)
    if (LATIN_WORD.test(String.fromCodePoint(...term.symbols)) && !term.openEnd && term.symbols.at(-1) !== 0x73) {
      add([...term.symbols, 0x73], term)
    }
  }
  return { wordRoot, anyRoot }
}
