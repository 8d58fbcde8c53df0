import ar from '../languages/ar.json' with { type: 'json' }
import bg from '../languages/bg.json' with { type: 'json' }
import bn from '../languages/bn.json' with { type: 'json' }
import cs from '../languages/cs.json' with { type: 'json' }
import da from '../languages/da.json' with { type: 'json' }
import de from '../languages/de.json' with { type: 'json' }
import el from '../languages/el.json' with { type: 'json' }
import en from '../languages/en.json' with { type: 'json' }
import es from '../languages/es.json' with { type: 'json' }
import fa from '../languages/fa.json' with { type: 'json' }
import fi from '../languages/fi.json' with { type: 'json' }
import fr from '../languages/fr.json' with { type: 'json' }
import he from '../languages/he.json' with { type: 'json' }
import hi from '../languages/hi.json' with { type: 'json' }
import hr from '../languages/hr.json' with { type: 'json' }
import hu from '../languages/hu.json' with { type: 'json' }
import id from '../languages/id.json' with { type: 'json' }
import it from '../languages/it.json' with { type: 'json' }
import ja from '../languages/ja.json' with { type: 'json' }
import ko from '../languages/ko.json' with { type: 'json' }
import ms from '../languages/ms.json' with { type: 'json' }
import nl from '../languages/nl.json' with { type: 'json' }
import pl from '../languages/pl.json' with { type: 'json' }
import pt from '../languages/pt.json' with { type: 'json' }
import ro from '../languages/ro.json' with { type: 'json' }
import ru from '../languages/ru.json' with { type: 'json' }
import sv from '../languages/sv.json' with { type: 'json' }
import sw from '../languages/sw.json' with { type: 'json' }
import ta from '../languages/ta.json' with { type: 'json' }
import th from '../languages/th.json' with { type: 'json' }
import tl from '../languages/tl.json' with { type: 'json' }
import tr from '../languages/tr.json' with { type: 'json' }
import uk from '../languages/uk.json' with { type: 'json' }
import ur from '../languages/ur.json' with { type: 'json' }
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
  readonly ordinary?: {
    readonly minors?: Lines
    readonly sexual?: Lines
    /** Words that are right, though they are one letter away from one of the others: "snaked". */
    readonly spelt?: Lines
  }
  /** Words that mean both a minor and sex. */
  readonly both?: Lines
  /**
   * Words that name a minor as those draw one who like it sexual: "loli". Models marked as NSFW draw none of them; others
   * not beside swimwear or underwear.
   */
  readonly sexualised?: Lines
  /** Swimwear and underwear. */
  readonly swimwear?: Lines
  /** Words for clothes, and for decency: to ask for none, in a negative prompt, is to ask for nudity. */
  readonly clothes?: Lines
  /** Single pieces of clothing: one may be unwanted for its look, two of them as clothes are. */
  readonly garments?: Lines
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
    /** What follows a number of months or weeks, where any number below 216 counts: "months old". */
    readonly youngUnits?: Lines
    /** What follows a number of days, where any number below 6570 counts. */
    readonly dayUnits?: Lines
    /** What comes before the year of a birth, or behind it. */
    readonly births?: Lines
    /** What comes before an age: "aged", "grade". */
    readonly leads?: Lines
    /** What comes before the age that somebody has not reached, where eighteen counts, too: "under", "younger than". */
    readonly below?: Lines
    /** What comes before an age with nothing behind it: "just", "turned". */
    readonly hints?: Lines
    /** What stands between a person and an age, or behind it: "of", "is", "and". */
    readonly links?: Lines
    /** What stands behind an age that nothing names as one, and behind a count never: "on", "sitting". */
    readonly behind?: Lines
  }
  readonly groups?: Readonly<Record<string, Lines>>
  /** Its words of so many letters are also found with one dropped, added or swapped; 7 unless given. */
  readonly shortestMisspelt?: number
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
export function wordsByRole({ ambiguous, ages, ordinary, groups, shortestMisspelt, ...words }: Language) {
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
  [ar, bg, bn, cs, da, de, el, en, es, fa, fi, fr, he, hi, hr, hu, id, it, ja, ko, ms, nl, pl, pt, ro, ru, sv, sw, ta, th, tl, tr, uk, ur, vi, zh]
