import { type Cells, NO_GAP, toCells } from './cells.js'
import { sharedForm } from './lookalikes.js'
import { undisguise } from './normalize.js'

export type TermTrie = ReturnType<typeof createTermTrie>

interface Term {
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
const LATIN_LETTERS = new Set([...'abcdefghijklmnopqrstuvwxyzñ '].map((letter) => letter.charCodeAt(0)))
const PLURAL_S = 0x73
const SHORTEST_PLURAL = 3

/** A term as rules write it, with a star where it may go on in a longer word; undefined if nothing readable is left. */
export const toTerm = (written: string, list: number): Term | undefined =>
  compiled(written, list, ({ options }) => options.map(([plain]) => sharedForm(plain as number)))

/** A phrase that is to be found as written only; its symbols have a `WORD_GAP` between words. */
export const toPhrase = (written: string, list: number): Term | undefined =>
  compiled(written, list, ({ options, gaps }) => {
    const symbols: number[] = []
    for (const [i, [plain]] of options.entries()) {
      if (gaps[i] !== NO_GAP) symbols.push(WORD_GAP)
      symbols.push(plain as number)
    }
    return symbols
  })

function compiled(written: string, list: number, read: (cells: Cells) => number[]): Term | undefined {
  const bare = written.replace(STARS, '')
  const plain = undisguise(bare)
  const symbols = read(toCells(plain))
  if (symbols.length === 0) return undefined
  const unspaced = UNSPACED.test(plain)
  const [openStart, openEnd] = [unspaced || written.startsWith('*'), unspaced || written.endsWith('*')]
  return { written: bare, list, openStart, openEnd, symbols }
}

const hasPlural = ({ symbols, openEnd }: Term): boolean =>
  !openEnd &&
  symbols.length >= SHORTEST_PLURAL &&
  symbols.at(-1) !== PLURAL_S &&
  symbols.every((symbol) => LATIN_LETTERS.has(symbol))

/** The index of a symbol on the way to the end of a term; `NO_NODE` for none, which has no children. */
export type TermNode = number

export const NO_NODE = 0

/**
 * A tree of the terms' symbols with two roots: for terms that begin a word, and for those that need not. A term that
 * ends in a Latin letter is also found with a plural s. The nodes lie in typed arrays: as objects, tens of thousands of
 * them would take three times the memory and slow a server's start.
 */
export function createTermTrie(terms: readonly Term[]) {
  const [wordRoot, anyRoot] = [1, 2]
  const size = terms.reduce((sum, { symbols }) => sum + symbols.length + 1, 3)
  const symbols = new Int32Array(size)
  // Siblings form a linked list. A root has too many children for that, so it has a Map.
  const firstChild = new Int32Array(size)
  const nextSibling = new Int32Array(size)
  const rootChildren = [wordRoot, anyRoot].map(() => new Map<number, TermNode>())
  const endings: Term[][] = [[]]
  const endingOf = new Int32Array(size)
  let nodes = anyRoot + 1

  const childOf = (node: TermNode, symbol: number): TermNode => {
    if (node === NO_NODE) return NO_NODE
    if (node <= anyRoot) return rootChildren[node - wordRoot]?.get(symbol) ?? NO_NODE
    let child = firstChild[node] as number
    while (child !== NO_NODE && symbols[child] !== symbol) child = nextSibling[child] as number
    return child
  }
  const grow = (node: TermNode, symbol: number): TermNode => {
    const child = nodes++
    symbols[child] = symbol
    if (node <= anyRoot) rootChildren[node - wordRoot]?.set(symbol, child)
    else {
      nextSibling[child] = firstChild[node] as number
      firstChild[node] = child
    }
    return child
  }
  const add = (path: readonly number[], term: Term) => {
    let node = term.openStart ? anyRoot : wordRoot
    for (const symbol of path) node = childOf(node, symbol) || grow(node, symbol)
    if (endingOf[node] === 0) endingOf[node] = endings.push([]) - 1
    const ending = endings[endingOf[node] as number] as Term[]
    if (!ending.includes(term)) ending.push(term)
  }
  for (const term of terms) {
    add(term.symbols, term)
    if (hasPlural(term)) add([...term.symbols, PLURAL_S], term)
  }
  return {
    ...{ wordRoot, anyRoot, childOf },
    /** Zero at the roots. */
    symbolOf: (node: TermNode) => symbols[node] as number,
    /** The terms that end here. */
    termsAt: (node: TermNode): readonly Term[] => endings[endingOf[node] as number] as Term[],
  }
}
