import { agesIn, indexed } from './ages.js'
import { type Cells, MARK } from './cells.js'
import { type Evidence, type Language, type Role, type Sense, wordsByRole, wordsOf } from './language.js'
import { undisguise } from './normalize.js'
import { corrected, createSpelling, type Spelling } from './spelling.js'
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

  const meant = spellingOf(languages, lists)
  const matcher = createTermMatcher(lists, FILLERS)
  const interpret = (text: ReadText): Meaning => {
    const read = matcher.search(text)
    const spelt = read.flatMap((reading) => {
      const right = corrected(reading.cells, meant)
      return right ? [matcher.searchCorrected(reading, right)] : []
    })
    return [...read, ...spelt].map(({ cells, found }) => ({
      cells,
      senses: found.map(({ list: { role, language }, ...word }) => ({ role, language, ...word })),
    }))
  }
  const sensesOf = (text: Meaning, roles: readonly Role[]): Sense[] =>
    text.flatMap(({ senses }) => senses.filter(({ role }) => roles.includes(role)))

  return {
    /** Finds the words of a text, for the methods below. */
    interpret,
    /** The words that sexualise a minor; undefined when there are none. */
    judge: (text: Meaning, nsfwModel: boolean): string[] | undefined =>
      text
        .map(({ cells, senses }) => judgeReading(cells, senses, minorsIn(cells, senses, larger), nsfwModel))
        .find((words) => words !== undefined),
    /**
     * The words with which the negative prompt excludes adulthood from a sexual prompt, or clothes from one with a minor;
     * undefined when there are none.
     */
    judgeAvoided(prompt: Meaning, negative: string): string[] | undefined {
      if (negative === '') return undefined
      const sexual = sensesOf(prompt, ['sexual', 'nudity'])
      const minors = prompt.flatMap(({ cells, senses }) => minorsIn(cells, senses, larger))
      if (sexual.length + minors.length === 0) return undefined
      const avoided = interpret(readText(negative))
      const adulthood = sexual.length === 0 ? [] : sensesOf(avoided, ['adulthood'])
      if (adulthood.length > 0) return shown(adulthood, sexual)
      const clothes = minors.length === 0 ? [] : avoided.flatMap(({ cells, senses }) => clothesIn(cells, senses))
      return clothes.length > 0 ? shown(clothes, minors) : undefined
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
const UNDISGUISED: readonly Role[] = ['artworks', 'pointers', 'hints', 'below', 'links']

/** Roles whose words are found misspelt, too, if they are single words. */
const MISSPELT: readonly Role[] = ['minors', 'both', 'sexualised', 'sexual', 'nudity', 'young', 'people', 'numbers']
const SHORTEST_MISSPELT = 7
const STARS = /^\*|\*$/g

function spellingOf(
  languages: readonly Language[],
  lists: readonly { readonly role: Role; readonly language: number; readonly terms: readonly string[] }[],
): Spelling {
  const words = lists.flatMap(({ role, language, terms }) => {
    const shortest = languages[language]?.shortestMisspelt ?? SHORTEST_MISSPELT
    const parts = MISSPELT.includes(role) ? terms.flatMap((term) => partsOf(term, shortest)) : []
    return parts.filter(({ length }) => length >= shortest)
  })
  const phrases = languages.flatMap(({ ordinary, groups }) =>
    [ordinary?.spelt, ordinary?.minors, ordinary?.sexual].flatMap((lines) => wordsOf(lines, groups)),
  )
  const right = [...lists.flatMap(({ terms }) => terms), ...phrases].flatMap((term) => term.split(/[ *]+/))
  return createSpelling(words, new Set(right.map(plainLetters)))
}

/** A word, or the words of a phrase: these may be short ones that mean little, so only the longer ones count. */
const partsOf = (term: string, shortest: number): string[] => {
  const parts = term.split(' ').map((part) => plainLetters(part.replace(STARS, '')))
  return parts.length === 1 ? parts : parts.filter(({ length }) => length > shortest)
}

const plainLetters = (word: string): string => undisguise(word).toLowerCase().replaceAll(' ', '')

/** The words that say minor in whatever language the rest of the text is. */
const minorsIn = (cells: Cells, senses: readonly Sense[], larger: readonly (readonly string[])[]): Evidence[] => [
  ...withRole(senses, 'minors', 'sexualised'),
  ...youngPeople(cells, withRole(senses, 'young'), withRole(senses, 'people')),
  ...agesIn(cells, senses, larger),
]

function judgeReading(
  cells: Cells,
  senses: readonly Sense[],
  minorsAnywhere: readonly Evidence[],
  nsfwModel: boolean,
): string[] | undefined {
  const [both, sexualised] = [withRole(senses, 'both'), withRole(senses, 'sexualised')]
  const swimwear = nsfwModel ? [] : withRole(senses, 'swimwear')
  if (both.length > 0) return shown(both, [])
  if (sexualised.length > 0 && (nsfwModel || swimwear.length > 0)) return shown(sexualised, swimwear)
  const sexualAnywhere = withRole(senses, 'sexual', 'nudity')
  const sexualHere = withRole(senses, 'sexualHere')
  if (sexualAnywhere.length + sexualHere.length === 0) return undefined

  const minorsHere = withRole(senses, 'minorsHere')
  const sexual = [...sexualAnywhere, ...inLanguagesOf(sexualHere, [...minorsAnywhere, ...minorsHere])]
  const minors = [...minorsAnywhere, ...inLanguagesOf(minorsHere, sexual)]
  if (minors.length === 0 || sexual.length === 0) return undefined
  return areApart(cells, senses, minors, sexual) ? undefined : shown(minors, sexual)
}

const withRole = (senses: readonly Sense[], ...roles: Role[]): Sense[] =>
  senses.filter(({ role }) => roles.includes(role))

/**
 * What a negative prompt excludes of clothes as such: they alone between commas ("dirty clothes" is about dirt), or two
 * pieces. Who also excludes nudity means swimwear and underwear as nearly that.
 */
function clothesIn(cells: Cells, senses: readonly Sense[]): Sense[] {
  const excluded = (...roles: Role[]) => withRole(senses, ...roles).filter((sense) => fillsClause(cells, sense))
  const clothes = excluded('clothes')
  const swimwear = new Set(withRole(senses, 'swimwear').map(({ start }) => start))
  const isDecent = withRole(senses, 'nudity', 'sexual').some(({ start }) => !swimwear.has(start))
  const pieces = isDecent ? excluded('garments') : excluded('garments', 'swimwear')
  return new Set(pieces.map(({ written }) => written)).size > 1 ? [...clothes, ...pieces] : clothes
}

const fillsClause = ({ options, clauses }: Cells, { start, end }: Sense): boolean =>
  (start === 0 || clauses[start - 1] !== clauses[start]) &&
  (end + 1 >= options.length || clauses[end + 1] !== clauses[end])

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
