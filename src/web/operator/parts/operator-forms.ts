import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type ActedBy, MAX_REASON_LENGTH } from '../../../core/operator/operator-actions.js'
import { isLine } from '../../../lib/text.js'
import { sessionOf } from '../../shared/session-cookie.js'

/** One line that people can read, of a form; a field that is missing is empty. */
export const line = (maxLength: number, problem: string) =>
  z
    .string()
    .catch('')
    .transform((text) => text.trim())
    .refine((text) => isLine(text, maxLength), problem)

const WHY = `Say why in one line of 1 to ${MAX_REASON_LENGTH} characters: it is kept in the log.`

/** Why an operator does something. */
export const reason = line(MAX_REASON_LENGTH, WHY)

/** What a form sent, or the first thing that is wrong with it. */
export function readForm<Fields>(
  fields: z.ZodType<Fields>,
  body: unknown,
): { readonly form: Fields; readonly problem?: never } | { readonly form?: never; readonly problem: string } {
  const { data, error } = fields.safeParse(body ?? {})
  return error ? { problem: error.issues[0]?.message ?? 'Check the fields.' } : { form: data }
}

/** Who sent the form, and why. */
export const byOf = (request: FastifyRequest, reason: string): ActedBy => ({
  actor: sessionOf(request).caller.account.username,
  reason,
})
