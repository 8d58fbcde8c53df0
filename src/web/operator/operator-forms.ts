import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type By, MAX_REASON_LENGTH } from '../../account/operator-actions.js'
import { sessionOf } from '../session-cookie.js'

const WHY = `Say why in one line of 1 to ${MAX_REASON_LENGTH} characters: it is kept in the log.`

/** Why an operator does something. */
export const reason = z
  .string(WHY)
  .trim()
  .refine((text) => text !== '' && text.length <= MAX_REASON_LENGTH && !/\p{Cc}/u.test(text), WHY)

/** Who sent the form, and why. */
export const byOf = (request: FastifyRequest, reason: string): By => ({
  actor: sessionOf(request).caller.account.username,
  reason,
})
