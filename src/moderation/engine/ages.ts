import { type Cells, NO_GAP } from './cells.js'
import type { Evidence, Role, Sense } from './language.js'

/** Groups senses by where they start, or end. */
export function indexed(senses: readonly Sense[], key: 'start' | 'end'): ReadonlyMap<number, Sense[]> {
  const index = new Map<number, Sense[]>()
  for (const sense of senses) {
    const there = index.get(sense[key])
    if (there) there.push(sense)
    else index.set(sense[key], [sense])
  }
  return index
}

/** A number from one to seventeen, or of up to four digits, from its first to its last letter. */
interface NumberToken {
  readonly start: number
  readonly end: number
  readonly shown: string
  /** Of a number word; digits and Roman numerals belong to any. */
  readonly language?: number
  /** Its value, if it is written in digits. */
  readonly digits?: number
}

const ADULT = 18
const [ADULT_MONTHS, ADULT_DAYS] = [ADULT * 12, ADULT * 365]
const MOST_DIGITS = 4
const ROMAN = /^(?:x?(?:ix|iv|v|v?i{1,3})|x)$/
const MAX_ROMAN_LENGTH = 5
const ROMAN_LETTER = /^[ivx]$/
/** A smaller bare number is more likely a count or a position in a list: "2 girl". */
const MIN_BARE_AGE = 3
/** How many letters beside a number are searched for a word that makes it larger, or for a birth. */
const SEARCHED_LETTERS = 16

/** The ages under eighteen in a text, given what its words mean. `larger`: by language, what makes a number larger. */
export function agesIn(cells: Cells, senses: readonly Sense[], larger: readonly (readonly string[])[]): Evidence[] {
  const thisYear = new Date().getFullYear()
  const finder = (key: 'start' | 'end') => {
    const index = indexed(senses, key)
    return (role: Role, place: number, language?: number) =>
      index.get(place)?.find((sense) => sense.role === role && (language ?? sense.language) === sense.language)
  }
  const [from, until] = [finder('start'), finder('end')]
  const personUntil = (place: number, language?: number) =>
    PERSONS.map((role) => until(role, place, language)).find((found) => found)
  const people = senses.filter(({ role }) => PERSONS.includes(role))

  const isLarger = ({ start, end, language }: NumberToken): boolean => {
    const before = lettersOf(cells, Math.max(0, start - SEARCHED_LETTERS), start - 1)
    const after = lettersOf(cells, end + 1, end + SEARCHED_LETTERS)
    return (larger[language ?? -1] ?? []).some((word) => before.endsWith(word) || after.startsWith(word))
  }
  const births = senses.filter(({ role }) => role === 'births')
  /** "born in March 2014": in the same clause, with a day and a month between. */
  const birthBeside = (start: number, end: number) =>
    from('births', end + 1) ??
    births.find(
      (birth) =>
        birth.end < start && start - birth.end <= SEARCHED_LETTERS && cells.clauses[birth.end] === cells.clauses[start],
    )
  const age = ({ language }: Sense, written: string, start: number): Evidence => ({ written, language, start })
  /** "30 months old"; "twenty-four months", too: no such number in words makes an adult. */
  const shortAgeOf = ({ start, end, shown, language, digits = 0 }: NumberToken): Evidence | undefined => {
    const months = digits < ADULT_MONTHS ? from('youngUnits', end + 1, language) : undefined
    const unit = months ?? (digits < ADULT_DAYS ? from('dayUnits', end + 1, language) : undefined)
    return unit && age(unit, `${shown} ${unit.written}`, start)
  }
  const ageOf = (token: NumberToken): Evidence | undefined => {
    const { start, end, shown, language, digits } = token
    const endsClauseAt = (last: number) =>
      last + 1 === cells.options.length || cells.clauses[last + 1] !== cells.clauses[last]
    const endsClause = endsClauseAt(end)
    const beginsClause = start === 0 || cells.clauses[start - 1] !== cells.clauses[start]
    // A link or a pointer counts in the language of what is before: "o" is one in Hungarian, not in "12 o'clock".
    const isAlone = (before: Sense): boolean =>
      endsClause ||
      NAMING_ROLES.some((role) => from(role, end + 1)) ||
      COUNTED_ROLES.some((role) => {
        const next = from(role, end + 1)
        return next && !isPlural(cells, next)
      }) ||
      LINKING_ROLES.some((role) => {
        const next = from(role, end + 1, before.language)
        return next && (!isPlural(cells, next) || endsClauseAt(next.end))
      })
    // "under 18", but not "under 18 lanterns", nor the 3 of "under 3 arches".
    const below = (digits ?? ADULT) <= ADULT ? until('below', start - 1, language) : undefined
    if (below && (digits ?? ADULT) > MIN_BARE_AGE && (isAlone(below) || from('units', end + 1, language)))
      return age(below, `${below.written} ${shown}`, start)
    if (digits !== undefined && digits >= ADULT) {
      const birth = digits > thisYear - ADULT && digits <= thisYear ? birthBeside(start, end) : undefined
      return birth && age(birth, `${birth.written} ${shown}`, start)
    }
    const years = from('units', end + 1, language)
    if (years) return age(years, `${shown} ${years.written}`, start)
    const lead = until('leads', start - 1, language)
    if (cells.gaps[end + 1] === NO_GAP && isLetter(cells, end + 1) && digits !== undefined) {
      // "class 7b" and "classe de 5e" are school years; "8k" is none.
      const isOneLetter = end + 2 >= cells.options.length || cells.gaps[end + 2] !== NO_GAP
      return lead && isOneLetter ? age(lead, `${lead.written} ${shown}`, start) : undefined
    }
    if (ROMAN_LETTER.test(shown)) return undefined
    if (lead) return age(lead, `${lead.written} ${shown}`, start)

    const hint = until('hints', start - 1, language)
    if (hint && isAlone(hint)) return age(hint, `${hint.written} ${shown}`, start)
    if ((digits ?? MIN_BARE_AGE) < MIN_BARE_AGE) return undefined
    // The second number of a height or a ratio is no age either: 5'6", 16:9.
    const continues = cells.gaps[start] === NO_GAP || (isDigit(cells, start - 1) && !beginsClause)
    if (digits !== undefined && start > 0 && continues) return undefined
    const link = until('links', start - 1, language)
    const before = personUntil((link?.start ?? start) - 1, language)
    if (before && isAlone(before)) return age(before, `${before.written} ${shown}`, start)
    const after = from('people', end + 1, language)
    if (after && !endsClause && !isPlural(cells, after)) return age(after, `${shown} ${after.written}`, start)
    if (!beginsClause || !endsClause) return undefined
    const near = people.find(
      (person) =>
        cells.sentences[person.start] === cells.sentences[start] && (language ?? person.language) === person.language,
    )
    return near && age(near, `${near.written} ${shown}`, start)
  }

  const words = senses
    .filter(({ role }) => role === 'numbers')
    .map(({ written, ...word }) => ({ ...word, shown: written }))
  return [...digitsIn(cells), ...romansIn(cells), ...words].flatMap((token: NumberToken) => {
    const found = shortAgeOf(token)
    if (found) return [found]
    const years = ageOf(token)
    return years && !isLarger(token) ? [years] : []
  })
}

const PERSONS: readonly Role[] = ['people', 'adults', 'pointers']
// What stands behind an age that has nothing else behind it; of the counted ones, no plural: "12 models".
const NAMING_ROLES: readonly Role[] = ['sexual', 'nudity', 'minors']
const COUNTED_ROLES: readonly Role[] = ['people', 'adults']
const LINKING_ROLES: readonly Role[] = ['pointers', 'links', 'behind', 'sexualHere']

/** Numbers of up to four digits. "1,012 years old" is no age of 12, because its second group has three. */
function digitsIn(cells: Cells): NumberToken[] {
  const tokens: NumberToken[] = []
  for (let start = 0; start < cells.options.length; start++) {
    if (!isDigit(cells, start)) continue
    let end = start
    while (isDigit(cells, end + 1) && cells.gaps[end + 1] === NO_GAP) end++
    const digits = Number(lettersOf(cells, start, end))
    const isWhole = end - start < 2 || !isZero(cells, start)
    if (isWhole && end - start < MOST_DIGITS) tokens.push({ start, end, shown: `${digits}`, digits })
    start = end
  }
  return tokens
}

function romansIn(cells: Cells): NumberToken[] {
  const tokens: NumberToken[] = []
  const { options, gaps } = cells
  for (let start = 0; start < options.length; start++) {
    if ((start > 0 && gaps[start] === NO_GAP) || !ROMAN_LETTER.test(lettersOf(cells, start, start))) continue
    let end = start
    while (end + 1 < options.length && gaps[end + 1] === NO_GAP && end - start < MAX_ROMAN_LENGTH) end++
    const shown = lettersOf(cells, start, end)
    if (ROMAN.test(shown)) tokens.push({ start, end, shown })
  }
  return tokens
}

/** The letters from `start` to `end`, inclusive, without the gaps. */
export const lettersOf = ({ options }: Cells, start: number, end: number): string =>
  options
    .slice(start, end + 1)
    .map(([plain]) => String.fromCodePoint(plain as number))
    .join('')

const isDigit = ({ options }: Cells, at: number): boolean => {
  const symbol = options[at]?.[0] ?? 0
  return symbol >= 0x30 && symbol <= 0x39
}

const isZero = ({ options }: Cells, at: number): boolean => options[at]?.[0] === 0x30

const isLetter = (cells: Cells, at: number): boolean => at < cells.options.length && cells.soft[at] === 0

const isPlural = (cells: Cells, { end, written }: Sense): boolean =>
  lettersOf(cells, end, end) === 's' && !written.endsWith('s')
