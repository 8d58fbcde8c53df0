import type { FastifyReply } from 'fastify'
import { AppError } from '../errors.js'
import { statusOf } from '../http/error-bodies.js'

/** Why something was refused, to be said on the page, which gets the refusal's status. @throws what is our own fault */
export function refusalOf(error: unknown, reply: FastifyReply): string {
  if (!(error instanceof AppError) || statusOf(error.code) >= 500) throw error
  reply.code(statusOf(error.code))
  return error.message
}
