import { moderationUnavailable } from '../core/errors.js'
import type { Moderator } from '../core/generations/submit/ports.js'
import { type EndpointOptions, MINORS_CATEGORY, moderationEndpoint } from './moderation-endpoint.js'

export interface RemoteModerator extends Moderator {
  /** Whether it gave no usable answer when it was last asked. */
  isSilent(): boolean
}

export type RemoteModeratorOptions = Omit<EndpointOptions, 'deadlineMs'> & { readonly deadlineMs?: number | undefined }

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
