import { rateLimited } from '../../errors.js'
import type { Moderator, OwnRules, RefusedPrompts } from './ports.js'

export interface CheckPorts {
  readonly moderator: Moderator
  readonly refusedPrompts: RefusedPrompts
  /** Counts events of a key within a window that slides. */
  readonly checks: {
    hit(key: string, windowMs: number, max: number): Promise<{ readonly current: number; readonly ttlMs: number }>
  }
}

/** What a free check answers; all is null and empty where nothing may be told but that the prompt is refused. */
export interface PromptCheck {
  readonly flagged: boolean
  readonly parameter: 'prompt' | 'negative_prompt' | null
  readonly category: string | null
  readonly matched: readonly string[]
}

const NOT_FLAGGED: PromptCheck = { flagged: false, parameter: null, category: null, matched: [] }

/** Matching takes as long as that of a submit, which costs credits; a person who types asks less often. */
const MAX = 30
const SECONDS = 60

/** Counts a free check of an account. @param kind each has a limit of its own @throws rate_limited */
export async function countCheck(
  { checks }: Pick<CheckPorts, 'checks'>,
  accountId: string,
  kind: 'check' | 'typing' = 'check',
): Promise<void> {
  const { current, ttlMs } = await checks.hit(`${kind}:${accountId}`, SECONDS * 1000, MAX)
  if (current > MAX) throw rateLimited(MAX, SECONDS, Math.max(1, Math.ceil(ttlMs / 1000)))
}

/**
 * Says what moderation would say to a submit with this prompt, for free. Operators learn of what is kept from the
 * account, so that nobody can try around it unseen.
 * @throws rate_limited; unavailable if a required check was not possible
 */
export async function checkPrompt(
  ports: CheckPorts,
  accountId: string,
  text: Parameters<Moderator['review']>[0],
): Promise<PromptCheck> {
  await countCheck(ports, accountId)
  const verdict = await ports.moderator.review(text)
  if (!verdict.flagged) return NOT_FLAGGED
  const { parameter, category, matched, secret } = verdict
  if (!secret) return { flagged: true, parameter, category, matched }
  const prompt = parameter === 'prompt' ? text.prompt : text.negativePrompt
  ports.refusedPrompts.note({ accountId, parameter, category, matched, prompt })
  return { ...NOT_FLAGGED, flagged: true }
}

/**
 * The same for a prompt that somebody is still typing: it leaves no record and takes nothing from the checks that are asked for. So it
 * is silent about what is kept from the account, or one could try around that unseen. An outside service sees only what is submitted.
 * @throws rate_limited
 */
export async function checkTyped(
  { ownRules, checks }: Pick<CheckPorts, 'checks'> & { readonly ownRules: OwnRules },
  accountId: string,
  text: Parameters<Moderator['review']>[0],
): Promise<PromptCheck> {
  await countCheck({ checks }, accountId, 'typing')
  const verdict = await ownRules.reviewHere(text)
  if (!verdict.flagged || verdict.secret) return NOT_FLAGGED
  const { parameter, category, matched } = verdict
  return { flagged: true, parameter, category, matched }
}
