import { agesIn, indexed, lettersOf } from './ages.js'
import { type Cells, MARK, toCells } from './cells.js'
import { type Evidence, type Language, type Role, type Sense, wordsByRole, wordsOf } from './language.js'
import { undisguise } from './normalize.js'
import { createTermMatcher, type ReadText, readText } from './term-matcher.js'

export type MinorsRule = ReturnType<typeof createMinorsRule>

/** Each way of reading a text, with the words whose sense is known. */
type Meaning = readonly { readonly cells: Cells; readonly senses: readonly Sense[] }[]

const MAX_SHOWN_OF_EACH = 3
/** From "little" to "girl": at most four gaps, that is three words between, and at most this many letters. */
const MAX_GAPS = 4
const MAX_LETTERS = 40

/** The rule on minors: no word that says minor with one for sex or nudity. Works in time linear in the text. */
export function createMinorsRule(languages: readonly Language[]) {
  const ordinaryMinors = languages.flatMap(({ ordinary, groups }) => wordsOf(ordinary?.minors, groups))
  const ordinarySexual = languages.flatMap(({ ordinary, groups }) => wordsOf(ordinary?.sexual, groups))
  const lists = languages.flatMap((words, language) =>
    (Object.entries(wordsByRole(words)) as [Role, readonly string[] | undefined][]).map(([role, lines]) => ({
      role,
      language,
      terms: wordsOf(lines, words.groups),
      ordinary: SEXUAL.includes(role) ? ordinarySexual : ordinaryMinors,
      undisguised: UNDISGUISED.includes(role),
    })),
  )
  const larger = languages.map(({ ages, groups }) => wordsOf(ages?.larger, groups).map(plainLetters))

  const matcher = createTermMatcher(lists, FILLERS)
  const interpret = (text: ReadText): Meaning =>
    matcher.search(text).map(({ cells, found }) => ({
      cells,
      senses: found.map(({ list: { role, language }, ...word }) => ({ role, language, ...word })),
    }))
  const sensesOf = (text: Meaning, roles: readonly Role[]): Sense[] =>
    text.flatMap(({ senses }) => senses.filter(({ role }) => roles.includes(role)))

  return {
    /** Finds the words of a text, for the methods below. */
    interpret,
    /** The words that sexualise a minor; undefined when there are none. */
    judge: (text: Meaning): string[] | undefined =>
      text.map(({ cells, senses }) => judgeReading(cells, senses, larger)).find((words) => words !== undefined),
    /** The words with which a sexual prompt's negative prompt excludes adulthood; undefined when there are none. */
    judgeAvoided(prompt: Meaning, negative: string): string[] | undefined {
      const sexual = negative === '' ? [] : sensesOf(prompt, ['sexual', 'nudity'])
      const adulthood = sexual.length === 0 ? [] : sensesOf(interpret(readText(negative)), ['adulthood'])
      return adulthood.length > 0 ? shown(adulthood, sexual) : undefined
    },
    /** The words for sex and nudity. */
    sexualWords: (text: Meaning): string[] => [
      ...new Set(sensesOf(text, ['sexual', 'nudity']).map(({ written }) => written)),
    ],
  }
}

// Words that may stand between terms written together without making the whole an ordinary word.
const FILLERS =
  'girl boy girls boys little young cute tiny hot and with pic pics picture photo image video art xxx'.split(' ')

const SEXUAL: readonly Role[] = ['sexual', 'sexualHere', 'nudity', 'both']

/** Found as written only: nobody disguises these words, and they are so short that many look-alikes would match. */
const UNDISGUISED: readonly Role[] = ['artworks', 'pointers', 'hints', 'links']

const plainLetters = (word: string): string => {
  const cells = toCells(undisguise(word))
  return lettersOf(cells, 0, cells.options.length)
}

function judgeReading(cells: Cells, senses: readonly Sense[], larger: readonly (readonly string[])[]) {
  const of = (...roles: Role[]) => senses.filter(({ role }) => roles.includes(role))
  const both = of('both')
  if (both.length > 0) return shown(both, [])
  const sexualAnywhere = of('sexual', 'nudity')
  const sexualHere = of('sexualHere')
  if (sexualAnywhere.length + sexualHere.length === 0) return undefined

  const minorsAnywhere: Evidence[] = [
    ...of('minors'),
    ...youngPeople(cells, of('young'), of('people')),
    ...agesIn(cells, senses, larger),
  ]
  const minorsHere = of('minorsHere')
  const sexual = [...sexualAnywhere, ...inLanguagesOf(sexualHere, [...minorsAnywhere, ...minorsHere])]
  const minors = [...minorsAnywhere, ...inLanguagesOf(minorsHere, sexual)]
  if (minors.length === 0 || sexual.length === 0) return undefined
  return areApart(cells, senses, minors, sexual) ? undefined : shown(minors, sexual)
}

/** The words in whose language there is also one of the others. */
const inLanguagesOf = <E extends Evidence>(words: readonly E[], others: readonly Evidence[]): E[] => {
  const languages = new Set(others.map(({ language }) => language))
  return words.filter(({ language }) => languages.has(language))
}

/** "little … girl": the pairs of one language in one clause, with few words between. */
function youngPeople({ gaps, clauses }: Cells, young: readonly Sense[], people: readonly Sense[]): Evidence[] {
  const starting = indexed(people, 'start')
  if (starting.size === 0) return []
  return young.flatMap(({ written, language, start, end }) => {
    let passed = 0
    for (let at = end + 1; at <= end + MAX_LETTERS && clauses[at] === clauses[end]; at++) {
      if ((gaps[at] as number) >= MARK && ++passed > MAX_GAPS) return []
      const person = starting.get(at)?.find((other) => other.language === language)
      if (person) return [{ written: `${written} ${person.written}`, language, start }]
    }
    return []
  })
}

/**
 * Whether all nudity is of adults in works of art, in sentences without minors, and no sentence with minors refers back
 * to someone: "An adult nude study on the wall. Children play outside."
 */
function areApart(cells: Cells, senses: readonly Sense[], minors: readonly Evidence[], sexual: readonly Sense[]) {
  const { sentences } = cells
  const sentencesOf = (words: readonly Evidence[]) => new Set(words.map(({ start }) => sentences[start]))
  const withWords = (...roles: Role[]) => sentencesOf(senses.filter(({ role }) => roles.includes(role)))
  const [adult, art, pointing] = [withWords('adults', 'adulthood'), withWords('artworks'), withWords('pointers')]
  const young = sentencesOf(minors)
  const isArt = (sentence: number | undefined) => adult.has(sentence) && art.has(sentence) && !young.has(sentence)
  const areNudes = sexual.every(({ role, start }) => role === 'nudity' && isArt(sentences[start]))
  return areNudes && [...young].every((sentence) => !pointing.has(sentence))
}

const shown = (words: readonly Evidence[], others: readonly Evidence[]): string[] =>
  [words, others].flatMap((evidence) =>
    [...new Set(evidence.map(({ written }) => written))].slice(0, MAX_SHOWN_OF_EACH),
  )
