import { type Cells, NO_GAP } from './cells.js'
import { createTermTrie, type TermTrie, toPhrase, WORD_GAP } from './term-trie.js'

/** Where a phrase of one list is in the text, from its first to its last letter. */
export interface Stretch {
  readonly written: string
  readonly start: number
  readonly end: number
  readonly list: number
}

/** Finds the phrases of lists, as they are written. */
export function createPhraseFinder(lists: readonly (readonly string[])[]): (cells: Cells) => Stretch[] {
  const trie = createTermTrie(
    lists.flatMap((phrases, list) => phrases.flatMap((phrase) => toPhrase(phrase, list) ?? [])),
  )
  return (cells) => {
    const found: Stretch[] = []
    for (let start = 0; start < cells.options.length; start++) {
      const beginsWord = start === 0 || cells.gaps[start] !== NO_GAP || cells.soft[start - 1] === 1
      if (beginsWord) follow(trie, trie.wordRoot, cells, start, found)
      follow(trie, trie.anyRoot, cells, start, found)
    }
    return found
  }
}

/** Walks the trie along the text; no further than the longest phrase, so the search stays linear. */
function follow(trie: TermTrie, root: number, cells: Cells, start: number, found: Stretch[]) {
  let node: number | undefined = root
  for (let at = start; at < cells.options.length; at++) {
    if (at > start && cells.gaps[at] !== NO_GAP) node = trie.child(node, WORD_GAP)
    if (node !== undefined) node = trie.child(node, cells.options[at]?.[0] as number)
    if (node === undefined) return
    for (const { openEnd, list, written } of trie.termsAt(node)) {
      if (openEnd || endsWord(cells, at)) found.push({ start, end: at, list, written })
    }
  }
}

/** Whether a word can end with this letter. */
export const endsWord = (cells: Cells, at: number): boolean =>
  at === cells.options.length - 1 || cells.gaps[at + 1] !== NO_GAP || cells.soft[at + 1] === 1

/** Whether a match lies within an ordinary phrase of its list. */
export const isOrdinary = (stretches: readonly Stretch[], match: Omit<Stretch, 'written'>): boolean =>
  stretches.some(({ start, end, list }) => list === match.list && start <= match.start && match.end <= end)
