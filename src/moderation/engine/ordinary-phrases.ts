import { type Cells, NO_GAP } from './cells.js'
import { createTermTrie, type Match, NO_NODE, type TermNode, toPhrase, WORD_GAP } from './term-trie.js'

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
export const endsWord = (cells: Cells, at: number): boolean =>
  at === cells.options.length - 1 || cells.gaps[at + 1] !== NO_GAP || cells.soft[at + 1] === 1
