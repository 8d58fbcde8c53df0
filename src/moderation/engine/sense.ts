/** What a word can say that matters to the rule on minors. */
export type Role =
  | 'both'
  | 'minors'
  | 'minorsHere'
  | 'sexual'
  | 'sexualHere'
  | 'nudity'
  | 'young'
  | 'people'
  | 'adults'
  | 'adulthood'
  | 'artworks'
  | 'pointers'
  | 'numbers'
  | 'units'
  | 'youngUnits'
  | 'leads'
  | 'hints'
  | 'links'

/** A word found in a text and what it says; `language` is an index into the rule's languages. */
export interface Sense {
  readonly role: Role
  readonly language: number
  readonly written: string
  readonly start: number
  readonly end: number
}

/** Senses by the place where they start, or end. */
export function indexed(senses: readonly Sense[], key: 'start' | 'end'): Map<number, Sense[]> {
  const index = new Map<number, Sense[]>()
  for (const sense of senses) {
    const there = index.get(sense[key])
    if (there) there.push(sense)
    else index.set(sense[key], [sense])
  }
  return index
}
