import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { languages, wordsByRole, wordsOf } from '../../src/moderation/engine/language.js'
import { createTermMatcher, readText, termsIn } from '../../src/moderation/engine/term-matcher.js'
import { searchTerms } from '../../src/moderation/engine/term-search.js'
import { createTermTrie, type TermNode, toTerm } from '../../src/moderation/engine/term-trie.js'
import { disguises } from './disguises.js'

const LENGTH = 2000
/** Steps through the tree of terms for each letter read, forwards and backwards. */
const MOST_STEPS_PER_LETTER = 50

const trie = createTermTrie(
  languages.flatMap((language, i) =>
    Object.values(wordsByRole(language)).flatMap((lines) =>
      wordsOf(lines as readonly string[] | undefined, language.groups).flatMap((word) => toTerm(word, i) ?? []),
    ),
  ),
)

/** How often the search looks for the next letter of a term, and how many letters it read. */
function stepsFor(text: string) {
  let steps = 0
  let letters = 0
  const childOf = (node: TermNode, symbol: number) => {
    steps++
    return trie.childOf(node, symbol)
  }
  for (const { cells, backwards } of readText(text)) {
    letters += cells.options.length
    searchTerms({ ...trie, childOf }, cells, () => {})
    searchTerms({ ...trie, childOf }, backwards, () => {})
  }
  return { steps, letters }
}

const filled = (unit: string) => unit.repeat(Math.ceil(LENGTH / unit.length)).slice(0, LENGTH)
const linesOf = (file: string) =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split('\n')
const costly = [
  ...'bcdlnpstдΛ一십'.split('').flatMap((letter) => [letter, `${letter}*`]),
  ...['1', '1l|', '1l|*', 's*x*', 'c*h*l*d*', 'n*d*', 's*p*', 'm*n*', 'sch**l', 'i1l!|', 's5$z2', 'a@4*', '*s*e*'],
  ...['g6b8', 'o0', '∂*', 'Λ∂', 'в*', 's e x ', 'nudechild', '⑴', 'ﬀ*', 's*\u202e', '\u202es*\u202c', 'naked eye '],
  ...[
    's\u200b*',
    'c.h.i.l.d.',
    'ch1ld*n*d*',
    '👧🍆',
    '➀➁',
    '10½ ',
    'e*r*o*t*',
    'а*е*о*',
    'ｓ*',
    '*',
    '* ',
    'hs*ex*',
    'ééé*',
  ],
  ...[
    'twenty-',
    'twent-',
    'two ',
    'sixteen-',
    'sechzehn ',
    'шестнадцать-',
    '十六',
    'xvi ',
    '1-',
    'a - ',
    'a-',
    's-e-x-',
  ],
  ...['naked ', 'eye-', 'just turned ', 'too young to ', 'th grade-', 'years-', 'sixten nudee ', 'twenty*'],
]

describe('the cost of matching', () => {
  it('is bounded by the length of a text, whatever it holds', () => {
    const ordinary = stepsFor(linesOf('ordinary-prompts.txt').join(', '))
    const hostile = costly.map((unit) => ({ unit, ...stepsFor(filled(unit)) })).sort((a, b) => b.steps - a.steps)
    const shown = hostile.slice(0, 5).map(({ unit, steps, letters }) => `${unit} ${steps} (${letters} letters)`)
    const figures =
      `steps for ${LENGTH} characters: ordinary prompts ${Math.round((ordinary.steps * LENGTH) / ordinary.letters)}; ` +
      `the worst of ${costly.length} hostile texts ${shown.join(', ')}`
    if (process.env.SHOW_FIGURES) console.log(figures)
    for (const { unit, steps, letters } of hostile) expect(steps / letters, unit).toBeLessThan(MOST_STEPS_PER_LETTER)
  })

  it.each(['s*', 'l*', '1l|', 'n*d*', 'a@4*'])('leaves enough to find a disguised word amid %s', (unit) => {
    const list = { terms: ['zorblax', 'vimo', 'schoolgirl', 'nude', 'salad', 'level'] }
    const { search } = createTermMatcher([list])
    for (const [name, disguise] of Object.entries(disguises)) {
      const text = `${unit.repeat(150)} ${disguise('zorblax')} ${unit.repeat(150)}`
      expect(termsIn(search(readText(text))).get(list), name).toContain('zorblax')
    }
  })
})
