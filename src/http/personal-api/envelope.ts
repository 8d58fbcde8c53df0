import { z } from 'zod'
import type { AppError } from '../../errors.js'

/** Spec 7.1: `{ "error": <message> }`. */
export const errorBody = (error: AppError): { error: string } => ({ error: error.message })

const problem = z
  .object({ error: z.string().describe('One sentence that says what to do') })
  .meta({ id: 'Problem', examples: [{ error: 'Generation not found: check the ID.' }] })

/** The schemas of refusals with these statuses, beside the ones that every endpoint can meet. */
export const refusals = <const S extends number>(...statuses: S[]) =>
  Object.fromEntries([...statuses, 401, 429, 503].map((status) => [status, problem])) as Record<
    S | 401 | 429 | 503,
    typeof problem
  >
