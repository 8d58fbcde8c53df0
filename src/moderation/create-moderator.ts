import { moderationUnavailable } from '../core/errors.js'
import type { Moderator, OwnRules } from '../core/generations/submit/ports.js'
import { configuredRules, ModerationRulesError } from './categories-file.js'
import { type Language, languages } from './engine/language.js'
import { createMinorsRule, type MinorsRule } from './engine/minors-rule.js'
import { type EndpointOptions, MINORS_CATEGORY, moderationEndpoint } from './moderation-endpoint.js'
import { createRulesModerator } from './rules-moderator.js'

/** Built once: its words are the same for every moderator, and there are thousands. */
let minorsRule: MinorsRule | undefined

interface ModeratorOptions extends Pick<RemoteModeratorOptions, 'apiKey' | 'model' | 'deadlineMs' | 'logger'> {
  /** The operator's own file for the configurable rules; it replaces the default ones, never those on minors. */
  readonly rulesFile?: string | undefined
  /** An OpenAI-compatible moderation endpoint, asked after the rules. */
  readonly url?: string | undefined
}

/** The rules on minors, then the configured ones, then the outside check, if any. @throws ModerationRulesError */
export function createModerator({ rulesFile, url, ...endpoint }: ModeratorOptions): RemoteModerator & OwnRules {
  requireWords(languages)
  const configured = configuredRules(rulesFile)
  minorsRule ??= createMinorsRule(languages)
  const rules = createRulesModerator(minorsRule, configured)
  const reviewHere = rules.review
  if (url === undefined) return { ...rules, reviewHere, isSilent: () => false }
  const remote = createRemoteModerator({ url, ...endpoint })
  return {
    ...remote,
    reviewHere,
    async review(text) {
      const verdict = await rules.review(text)
      return verdict.flagged ? verdict : remote.review(text)
    },
  }
}

/** A damaged installation must not start with less than the rules that always hold. */
export function requireWords(known: readonly Language[]): void {
  const lists = known.flatMap(({ minors, sexual, nudity }) => [minors, sexual, nudity])
  if (lists.length > 0 && lists.every((lines) => lines?.some((line) => /\p{L}/u.test(line)))) return
  throw new ModerationRulesError('The built-in moderation rules are missing: install Easel again.')
}

export interface RemoteModerator extends Moderator {
  /** Whether it gave no usable answer when it was last asked. */
  isSilent(): boolean
}

type RemoteModeratorOptions = Omit<EndpointOptions, 'deadlineMs'> & { readonly deadlineMs?: number | undefined }

const DEADLINE_MS = 1500

/**
 * Asks a moderation endpoint about prompts. Only the prompt is sent: what a negative prompt names is to be avoided. When no
 * usable answer comes in time, models marked as NSFW are refused and others pass, since the built-in rules have seen the
 * prompt already.
 */
export function createRemoteModerator(options: RemoteModeratorOptions): RemoteModerator {
  const endpoint = moderationEndpoint({ ...options, deadlineMs: options.deadlineMs ?? DEADLINE_MS })
  return {
    isSilent: endpoint.isSilent,
    async review({ prompt, nsfwModel }) {
      const flags = await endpoint.flagsOf(prompt, nsfwModel).catch(() => undefined)
      if (!flags && nsfwModel) throw moderationUnavailable()
      if (!flags || flags.length === 0) return { flagged: false }
      const secret = flags.includes(MINORS_CATEGORY) && ({ secret: true } as const)
      return { flagged: true, parameter: 'prompt', category: flags.join(', '), matched: [], ...secret }
    },
  }
}
