import { NO_GAP, toCells } from './cells.js'
import { sharedForm } from './lookalikes.js'
import { undisguise } from './normalize.js'

/** A tree of symbols (code points) whose nodes are numbers. Two roots: terms that begin a word, and those that need not. */
export interface TermTrie {
  readonly wordRoot: number
  readonly anyRoot: number
  child(node: number, symbol: number): number | undefined
  isEnd(node: number): boolean
  /** The symbol that leads to a node; 0 at the roots. */
  symbolOf(node: number): number
  /** The terms that end at a node. */
  termsAt(node: number): readonly Term[]
  readonly size: number
}

/** How a written term is to be found. */
export interface Term {
  /** As the rules write it, without stars. */
  readonly written: string
  /** Which list it came from. */
  readonly list: number
  /** Set for ages: where their number stands, in digits before or after the term or as a word of it. */
  readonly number: 'before' | 'after' | 'within' | undefined
  /** `*term`: may begin inside a word. */
  readonly openStart: boolean
  /** `term*`: may end inside a word. */
  readonly openEnd: boolean
  readonly symbols: readonly number[]
}

export const WORD_GAP = 0x20

const NO_TERMS: readonly Term[] = []

// Written without spaces between words, so that a term begins and ends anywhere; pictures likewise.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}\p{Extended_Pictographic}]/u
const LATIN_WORD = /^[a-zñ ]{3,}$/u

/**
 * A term as the rules write it: words, in any alphabet, with a star where it may go on inside a longer word.
 * Undefined when nothing readable is left of it.
 */
export function toTerm(written: string, list: number, number?: Term['number']): Term | undefined {
  const bare = written.trim().replace(/^\*|\*$/g, '')
  const plain = undisguise(bare)
  const symbols = toCells(plain).options.map(([symbol]) => sharedForm(symbol as number))
  if (symbols.length === 0) return undefined
  const unspaced = UNSPACED.test(plain)
  return {
    written: bare,
    list,
    number,
    openStart: unspaced || written.trim().startsWith('*'),
    openEnd: unspaced || written.trim().endsWith('*'),
    symbols,
  }
}

/** A phrase that is to be found as written only; its symbols have a `WORD_GAP` between words. */
export function toPhrase(written: string, list: number): Term {
  const { options, gaps } = toCells(undisguise(written))
  const symbols = options.flatMap(([plain], i) => [...(gaps[i] === NO_GAP ? [] : [WORD_GAP]), plain as number])
  const unspaced = UNSPACED.test(written)
  return { written, list, number: undefined, openStart: unspaced, openEnd: unspaced, symbols }
}

/** The trie of these terms; one that ends in a letter is also found with a plural s. */
export function createTermTrie(terms: readonly Term[]): TermTrie {
  const children: (Map<number, number> | undefined)[] = [undefined, undefined]
  const symbols: number[] = [0, 0]
  const ends: (Term[] | undefined)[] = [undefined, undefined]
  const add = (root: number, path: readonly number[], term: Term) => {
    let node = root
    for (const symbol of path) {
      let next = children[node]?.get(symbol)
      if (next === undefined) {
        next = children.push(undefined) - 1
        symbols.push(symbol)
        ends.push(undefined)
        const branches = children[node] ?? new Map<number, number>()
        children[node] = branches.set(symbol, next)
      }
      node = next
    }
    const there = ends[node] ?? []
    if (!there.includes(term)) there.push(term)
    ends[node] = there
  }
  for (const term of terms) {
    const root = term.openStart ? 1 : 0
    add(root, term.symbols, term)
    if (LATIN_WORD.test(String.fromCodePoint(...term.symbols)) && !term.openEnd && term.symbols.at(-1) !== 0x73) {
      add(root, [...term.symbols, 0x73], term)
    }
  }
  return {
    wordRoot: 0,
    anyRoot: 1,
    child: (node, symbol) => children[node]?.get(symbol),
    symbolOf: (node) => symbols[node] as number,
    isEnd: (node) => ends[node] !== undefined,
    termsAt: (node) => ends[node] ?? NO_TERMS,
    size: children.length,
  }
}
