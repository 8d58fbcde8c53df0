import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../core/errors.js'
import { statusOf } from '../../http/shared/error-bodies.js'
import { inWords } from '../texts/refusals.js'

/** Why something was refused, to be said on the page, which gets the refusal's status. @throws what is our own fault */
export function refusalMessage(error: unknown, reply: FastifyReply): string {
  if (!(error instanceof AppError) || statusOf(error.code) >= 500) throw error
  reply.code(statusOf(error.code))
  return inWords(error.message, reply.request.texts)
}

/** Whether htmx asks, which puts the answer into a page that is open. */
export const isFragment = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => headers['hx-request'] === 'true'
