import type { FastifyReply } from 'fastify'
import type { Submitted } from '../generation/submit/submission.js'

/** What a submit's answer says beside its body: whether it is a repeat's, and what the account holds now. */
export function tellSubmitted(reply: FastifyReply, { replayed, creditsLeft }: Submitted): void {
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (creditsLeft !== undefined) reply.header('x-credits-remaining', creditsLeft)
}
