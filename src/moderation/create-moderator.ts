import type { Moderator } from '../generation/ports.js'
import { ModerationRulesError, readCategoriesFile, rulesOf } from './categories-file.js'
import { createRemoteModerator, type ModerationLogger } from './remote-moderator.js'
import { fillers, rulesOnMinors } from './rules/built-in.js'
import { defaultCategories } from './rules/default-categories.js'
import { createRulesModerator, type Rule } from './rules-moderator.js'

export interface ModeratorOptions {
  /** The operator's own file for the configurable rules; it replaces the default ones, never those on minors. */
  readonly rulesFile?: string | undefined
  /** An OpenAI-compatible moderation endpoint, asked after the rules. */
  readonly url?: string | undefined
  readonly apiKey?: string | undefined
  readonly logger?: ModerationLogger | undefined
}

/**
 * The service's moderator: the rules on minors, then the configurable ones, then the outside check if there is one.
 * @throws ModerationRulesError when the operator's file can't be used or the rules on minors are missing
 */
export function createModerator({ rulesFile, url, apiKey, logger }: ModeratorOptions): Moderator {
  requireRulesOnMinors(rulesOnMinors)
  const configured = rulesFile === undefined ? defaultCategories : readCategoriesFile(rulesFile)
  const rules = createRulesModerator([...rulesOnMinors, ...rulesOf(configured)], fillers)
  if (url === undefined) return rules
  const remote = createRemoteModerator({ url, apiKey, logger })
  return {
    async review(text) {
      const verdict = await rules.review(text)
      return verdict.flagged ? verdict : remote.review(text)
    },
  }
}

/** A damaged installation must not start with less than the rules that always hold. */
export function requireRulesOnMinors(rules: readonly Rule[]): void {
  const complete =
    rules.length > 0 &&
    rules.every(({ terms, beside, avoided }) =>
      [terms, beside, avoided].every((list) => list === undefined || list.terms.length > 0),
    ) &&
    rules.some(({ beside, avoided }) => beside && avoided)
  if (!complete) throw new ModerationRulesError('The built-in moderation rules are missing: install Easel again.')
}
