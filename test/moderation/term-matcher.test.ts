import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTermMatcher, readText, type TermList, termsIn } from '../../src/moderation/engine/term-matcher.js'
import { seedOf } from '../support/effort.js'
import { disguises, LONG_CANARY, SHORT_CANARY } from './disguises.js'

const SEED = seedOf(1)
const long: TermList = { terms: [`*${LONG_CANARY}*`] }
const short: TermList = { terms: [SHORT_CANARY], ordinary: ['vimo sauce', 'blue-vimo'] }
const matcherOf = (lists: readonly TermList[], fillers?: readonly string[]) => {
  const { search } = createTermMatcher(lists, fillers)
  return { find: (text: string) => termsIn(search(readText(text))) }
}
const matcher = matcherOf([long, short])
const found = (text: string) => [...matcher.find(text).values()].flat()

describe('createTermMatcher', () => {
  it.each(Object.entries(disguises))('finds a long term: %s', (_name, disguise) => {
    expect(found(`a castle, ${disguise(LONG_CANARY)}, at dusk`)).toEqual([LONG_CANARY])
  })

  it.each(Object.entries(disguises))('finds a short term: %s', (_name, disguise) => {
    expect(found(`a castle, ${disguise(SHORT_CANARY)}, at dusk`)).toEqual([SHORT_CANARY])
  })

  it.each([
    ['inside a word', 'xxzorblaxyy'],
    ['inside a word, disguised', 'xxz0r[bl:1.2]áxyy'],
    ['as a plural', 'vimos'],
    ['as a possessive', 'the vimo’s hat'],
    ['after an elided article', "l'vimo"],
    ['between quotes', "'vimo'"],
    ['as the whole text', 'vimo'],
    ['beside Japanese without a space', '可愛いvimo猫'],
  ])('finds a term %s', (_where, text) => {
    expect(found(text)).toHaveLength(1)
  })

  it.each([
    ['across ordinary words', 'jazz or bla x, a saz or black sheep, Ovi moved'],
    ['from the middle of a word', 'the avi mo'],
    ['to the middle of a word', 'vi motors'],
    ['inside a longer word, unless starred', 'vimostat, ravimo'],
    ['with a letter missing', 'zorbla, vmo, vim'],
    ['in digits alone', '20 12 1010, 21 40'],
    ['in an ordinary phrase of its list', 'vimo sauce, a blue-vimo'],
  ])('finds nothing %s', (_where, text) => {
    expect(found(text)).toEqual([])
  })

  it('excuses an ordinary phrase there only, and only as it is written', () => {
    expect(found('vimo sauce beside a vimo')).toEqual([SHORT_CANARY])
    expect(found('vimosauce vimo')).toEqual([SHORT_CANARY])
  })

  it("excuses the terms of the phrase's own list only", () => {
    const other: TermList = { terms: [SHORT_CANARY] }
    const both = matcherOf([short, other])
    expect([...both.find('vimo sauce').keys()]).toEqual([other])
  })

  it('finds terms written together, with fillers, when the word is made of nothing else', () => {
    const [one, two]: TermList[] = [{ terms: ['vimo'] }, { terms: ['kreel'] }]
    const compounds = matcherOf([one as TermList, two as TermList], ['and'])
    for (const text of ['vimokreel', 'KreelVimo', 'vimoandkreel', 'leerkomiv', 'v i m o k r e e l', 'vimo2kreel']) {
      expect([...compounds.find(text).values()].flat().sort(), text).toEqual(['kreel', 'vimo'])
    }
    for (const text of ['vimokreelish', 'vim okr eel']) expect(compounds.find(text).size, text).toBe(0)
  })

  it('reads short terms across spaces letter by letter only', () => {
    const list: TermList = { terms: ['vim', 'lona'] }
    const words = matcherOf([list])
    for (const text of ['v i m', 'v.im', 'v-i-m', 'lo na', 'l oo n a']) expect(words.find(text).size, text).toBe(1)
    for (const text of ['v im', 'vi m', "liv's im", 'lo nna', 'loo na']) expect(words.find(text).size, text).toBe(0)
  })

  it('finds terms of scripts without spaces anywhere, and whole runs of katakana', () => {
    const list: TermList = { terms: ['灯台', 'カモメ', 'маяк', 'niña'] }
    const words = matcherOf([list])
    for (const text of ['古い灯台の絵', '白いカモメが', 'ﾏﾝｶﾞとｶﾓﾒ', 'старый МАЯК', 'мaяk', 'la NIN\u0303A']) {
      expect(words.find(text).size, text).toBe(1)
    }
    for (const text of ['灯の台', 'カモメール', 'маяковский', 'Nina']) expect(words.find(text).size, text).toBe(0)
  })

  it('finds each term once', () => {
    expect(found('vimo vimo v1mo zorblax ZORBLAX')).toEqual([SHORT_CANARY, LONG_CANARY])
  })

  it(`finds the canary behind any mix of invisible characters, marks, brackets and case (seed ${SEED})`, () => {
    const noise = fc.array(fc.constantFrom('\u200b', '\u0301', '\u00ad', '(', ')', '[', '\ufe0f', '\u{e0041}'), {
      maxLength: 4,
    })
    const letters = fc.tuple(
      ...[...LONG_CANARY].map((letter) => fc.tuple(fc.constantFrom(letter, letter.toUpperCase()), noise)),
    )
    fc.assert(
      fc.property(letters, (pieces) => {
        expect(found(pieces.map(([letter, junk]) => letter + junk.join('')).join(''))).toEqual([LONG_CANARY])
      }),
      { seed: SEED, numRuns: 300 },
    )
  })

  it(`finds a term behind any other text (seed ${SEED})`, () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 200 }), (codes) => {
        expect(found(`${String.fromCodePoint(...codes)} ${LONG_CANARY}`)).toContain(LONG_CANARY)
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})
