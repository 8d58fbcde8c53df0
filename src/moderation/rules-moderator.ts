import type { Moderator, Verdict } from '../generation/ports.js'
import { createTermMatcher, type TermList } from './term-matcher.js'

/** What is refused, as data. */
export interface Rule {
  /** What the refusal calls it. */
  readonly category: string
  /** `sfw`: only on models that are not marked as NSFW. */
  readonly models: 'all' | 'sfw'
  /** Any one of these is refused… */
  readonly terms: TermList
  /** …or, with this list, any one of them together with any one of these, wherever in the prompt. */
  readonly beside?: TermList
  /** Words that ask for `terms` when a negative prompt names them, beside a prompt with a word of `beside`. */
  readonly avoided?: TermList
}

const MOST_WORDS_SHOWN = 6
const CLEAN: Verdict = { flagged: false }

/** Checks prompts against rules, in the process and in time linear in the prompt. It can't be down. */
export function createRulesModerator(rules: readonly Rule[], fillers: readonly string[] = []): Moderator {
  const lists = rules.flatMap(({ terms, beside, avoided }) => [terms, beside, avoided])
  const matcher = createTermMatcher([...new Set(lists.filter((list) => list !== undefined))], fillers)

  return {
    async review({ prompt, negativePrompt, nsfwModel }) {
      const asked = matcher.find(prompt)
      if (asked.size === 0) return CLEAN
      const applying = rules.filter(({ models }) => models === 'all' || !nsfwModel)
      for (const { category, terms, beside } of applying) {
        const words = together(asked.get(terms), beside && (asked.get(beside) ?? []))
        if (words) return { flagged: true, parameter: 'prompt', category, matched: words }
      }
      for (const { category, beside, avoided } of applying) {
        if (!beside || !avoided || !asked.has(beside) || negativePrompt === '') continue
        const words = together(matcher.find(negativePrompt).get(avoided), asked.get(beside))
        if (words) return { flagged: true, parameter: 'negative_prompt', category, matched: words }
      }
      return CLEAN
    },
  }
}

/** The words of both lists, each side present; undefined when a side that is needed has none. */
function together(words: readonly string[] | undefined, besides: readonly string[] | undefined) {
  if (!words || besides?.length === 0) return undefined
  if (!besides) return words.slice(0, MOST_WORDS_SHOWN)
  return [...words.slice(0, MOST_WORDS_SHOWN / 2), ...besides.slice(0, MOST_WORDS_SHOWN / 2)]
}
