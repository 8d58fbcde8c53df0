import type { AppError } from '../../errors.js'

/** Spec 7.1: `{ "error": <message> }`. */
export const errorBody = (error: AppError): { error: string } => ({ error: error.message })
