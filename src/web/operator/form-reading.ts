import { z } from 'zod'
import { MAX_REASON_LENGTH } from '../../account/operator-actions.js'

/** One line that people can read, of a form; a field that is missing is empty. */
export const line = (maxLength: number, problem: string) =>
  z
    .string()
    .catch('')
    .transform((text) => text.trim())
    .refine((text) => text !== '' && text.length <= maxLength && !/\p{Cc}/u.test(text), problem)

/** Why an operator does something. */
export const reasonField = line(MAX_REASON_LENGTH, `Say why, in one line of up to ${MAX_REASON_LENGTH} characters.`)

/** What a form sent, or the first thing that is wrong with it. */
export function readForm<Fields>(
  fields: z.ZodType<Fields>,
  body: unknown,
): { readonly form: Fields; readonly problem?: never } | { readonly form?: never; readonly problem: string } {
  const { data, error } = fields.safeParse(body ?? {})
  return error ? { problem: error.issues[0]?.message ?? 'Check the fields.' } : { form: data }
}

/** A page's address with these parameters; without those that are empty. */
export function address(path: string, params: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(params).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
