import type { Moderator, Verdict } from '../core/generations/submit/ports.js'
import type { MinorsRule } from './engine/minors-rule.js'
import { createTermMatcher, readText, type TermList, termsIn } from './engine/term-matcher.js'

/** One thing that the operator refuses. */
export interface Rule {
  /** Its name in the refusal. */
  readonly category: string
  /** `sfw`: only on models that are not marked as NSFW. */
  readonly models: 'all' | 'sfw'
  /** A prompt with one of these is refused; with `beside`, only if it has one of those, too. */
  readonly terms: TermList
  /** `sexual`: any word for sex or nudity. */
  readonly beside?: 'sexual' | TermList
}

const MINORS_CATEGORY = 'sexual content with minors'
const MOST_WORDS_SHOWN = 6

/** Checks prompts against rules, in the process and in time linear in the prompt. It can't be down. */
export function createRulesModerator(minors: MinorsRule, rules: readonly Rule[]): Moderator {
  const lists = rules.flatMap(({ terms, beside }) => (typeof beside === 'object' ? [terms, beside] : [terms]))
  const matcher = createTermMatcher(lists)

  return {
    async review({ prompt, negativePrompt, nsfwModel }) {
      const text = readText(prompt)
      const meaning = minors.interpret(text)
      const sexualised = minors.judge(meaning, nsfwModel)
      if (sexualised) return ofMinors('prompt', sexualised)
      const avoided = minors.judgeAvoided(meaning, negativePrompt)
      if (avoided) return ofMinors('negative_prompt', avoided)
      const found = termsIn(matcher.search(text))
      for (const { category, models, terms, beside } of rules) {
        if (models === 'sfw' && nsfwModel) continue
        const besides = beside === 'sexual' ? minors.sexualWords(meaning) : beside && (found.get(beside) ?? [])
        const matched = together(found.get(terms), besides)
        if (matched) return { flagged: true, parameter: 'prompt', category, matched }
      }
      return { flagged: false }
    },
  }
}

const ofMinors = (parameter: 'prompt' | 'negative_prompt', matched: readonly string[]): Verdict => ({
  flagged: true,
  parameter,
  category: MINORS_CATEGORY,
  matched,
  secret: true,
})

/** Words of both, to show; undefined: no match. @param besides undefined: none are needed */
function together(words: readonly string[] | undefined, besides: readonly string[] | undefined) {
  if (!words || besides?.length === 0) return undefined
  if (!besides) return words.slice(0, MOST_WORDS_SHOWN)
  return [...words.slice(0, MOST_WORDS_SHOWN / 2), ...besides.slice(0, MOST_WORDS_SHOWN / 2)]
}
