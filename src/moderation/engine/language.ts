import ar from '../languages/ar.json' with { type: 'json' }
import cs from '../languages/cs.json' with { type: 'json' }
import da from '../languages/da.json' with { type: 'json' }
import de from '../languages/de.json' with { type: 'json' }
import el from '../languages/el.json' with { type: 'json' }
import en from '../languages/en.json' with { type: 'json' }
import es from '../languages/es.json' with { type: 'json' }
import fi from '../languages/fi.json' with { type: 'json' }
import fr from '../languages/fr.json' with { type: 'json' }
import hi from '../languages/hi.json' with { type: 'json' }
import hu from '../languages/hu.json' with { type: 'json' }
import id from '../languages/id.json' with { type: 'json' }
import it from '../languages/it.json' with { type: 'json' }
import ja from '../languages/ja.json' with { type: 'json' }
import ko from '../languages/ko.json' with { type: 'json' }
import nl from '../languages/nl.json' with { type: 'json' }
import pl from '../languages/pl.json' with { type: 'json' }
import pt from '../languages/pt.json' with { type: 'json' }
import ru from '../languages/ru.json' with { type: 'json' }
import sv from '../languages/sv.json' with { type: 'json' }
import th from '../languages/th.json' with { type: 'json' }
import tr from '../languages/tr.json' with { type: 'json' }
import vi from '../languages/vi.json' with { type: 'json' }
import zh from '../languages/zh.json' with { type: 'json' }
/**
 * One language's words, as its file in languages/ holds them. Each line of a list is words or phrases parted by commas;
 * `word*` goes on inside a longer word, `*word` may begin inside one, and `<name>` stands for each word of a group.
 */
export interface Language {
  /** Words that say someone is a minor, whatever language the rest of the prompt is in. */
  readonly minors: Lines
  /** Words for sex. */
  readonly sexual: Lines
  /** Words that say no more than that someone is undressed. */
  readonly nudity: Lines
  /** Words that mean something else in another language: they count beside words of their own language only. */
  readonly ambiguous?: { readonly minors?: Lines; readonly sexual?: Lines }
  /** Phrases in which the words are harmless: "naked eye". */
  readonly ordinary?: { readonly minors?: Lines; readonly sexual?: Lines }
  /** Words that mean both a minor and sex. */
  readonly both?: Lines
  /** Words that make a minor of a person named up to three words later: "little" in "little … girl". */
  readonly young?: Lines
  /** Nouns that an age or one of the words above makes a minor: "girl", "son". */
  readonly people?: Lines
  /** Words that say someone is grown up: "woman", "statue of Venus"; an age beside them still counts. */
  readonly adults?: Lines
  /** Words for adulthood itself: to ask for none of it, in a negative prompt, is to ask for a minor. */
  readonly adulthood?: Lines
  /** Words for works of art, whose adult nudes may share a prompt, not a sentence, with minors. */
  readonly artworks?: Lines
  /** Words that point back at someone: "she", "now". */
  readonly pointers?: Lines
  readonly ages?: {
    /** The words for one to seventeen, in every form. */
    readonly numbers: Lines
    /** Words that make a larger number of one beside them: "twenty", "hundred". */
    readonly larger?: Lines
    /** What follows a number of years: "years old", "th grade". */
    readonly units: Lines
    /** What follows a number of shorter stretches, where any number of two digits counts: "months old". */
    readonly youngUnits?: Lines
    /** What comes before an age: "aged", "grade". */
    readonly leads?: Lines
    /** What comes before an age with nothing behind it: "just", "turned". */
    readonly hints?: Lines
    /** What stands between a person and an age, or behind it: "of", "is", "and". */
    readonly links?: Lines
  }
  readonly groups?: Readonly<Record<string, Lines>>
}

type Lines = readonly string[]

const GROUP = /<(\w+)>/

/** The entries of a list, its groups put in. */
export function wordsOf(lines: Lines | undefined, groups: Language['groups'] = {}): string[] {
  const entries = (lines ?? []).flatMap((line) => line.split(',')).map((entry) => entry.trim())
  return entries.filter((entry) => entry !== '').flatMap((entry) => expand(entry, groups))
}

function expand(entry: string, groups: NonNullable<Language['groups']>): string[] {
  const [written, name] = GROUP.exec(entry) ?? []
  if (written === undefined || name === undefined) return [entry]
  const group = groups[name]
  if (!group) throw new Error(`There is no group ${name} for "${entry}".`)
  return wordsOf(group).flatMap((word) => expand(entry.replace(written, word), groups))
}

/** A language's words by their role in the rule on minors. */
export function wordsByRole({ ambiguous, ages, ordinary, groups, ...words }: Language) {
  const { larger, ...ofAges } = ages ?? {}
  return { ...words, ...ofAges, minorsHere: ambiguous?.minors, sexualHere: ambiguous?.sexual }
}

export type Role = keyof ReturnType<typeof wordsByRole>

/** A word found in a text and what it says; `language` is an index into the rule's languages. */
export interface Sense {
  readonly role: Role
  readonly language: number
  readonly written: string
  readonly start: number
  readonly end: number
}

/** A word of a text that says minor, or sex. */
export type Evidence = Pick<Sense, 'written' | 'language' | 'start'>

/** The languages whose words are known. Imported one by one, so that the compiler checks and copies each to dist/. */
export const languages: readonly Language[] =
  // biome-ignore format: one list
  [ar, cs, da, de, el, en, es, fi, fr, hi, hu, id, it, ja, ko, nl, pl, pt, ru, sv, th, tr, vi, zh]
