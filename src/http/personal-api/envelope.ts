import { z } from 'zod'
import type { AppError } from '../../errors.js'
import { refusalsWith } from '../refusals.js'

/** Spec 7.1: `{ "error": <message> }`. */
export const errorBody = (error: AppError): { error: string } => ({ error: error.message })

const problem = z
  .object({ error: z.string().describe('One sentence that says what to do') })
  .meta({ id: 'Problem', examples: [{ error: 'Generation not found: check the ID.' }] })

/** The schemas of refusals with these statuses, beside the ones that every endpoint can meet: 403 is for developer keys. */
export const refusals = refusalsWith(problem, 403)
