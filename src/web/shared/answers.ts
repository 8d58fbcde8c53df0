import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../core/errors.js'
import { statusOf } from '../../http/shared/error-bodies.js'

/** What people read instead of a field's name in the API; other names need no words of their own. */
const FIELD_WORDS: Readonly<Record<string, string>> = {
  url: 'URL',
  id: 'ID',
  batch_size: 'number of images',
  steps: 'number of steps',
  cfg_scale: 'guidance',
  model_version_id: 'model',
  from: 'first day',
  to: 'last day',
}

/** A sentence of the API for people: it may begin with the name of a field. */
export const inWords = (sentence: string): string =>
  sentence.replace(/^[a-z][a-z_]*(?= )/, (name) => `The ${FIELD_WORDS[name] ?? name.replaceAll('_', ' ')}`)

/** Why something was refused, to be said on the page, which gets the refusal's status. @throws what is our own fault */
export function refusalMessage(error: unknown, reply: FastifyReply): string {
  if (!(error instanceof AppError) || statusOf(error.code) >= 500) throw error
  reply.code(statusOf(error.code))
  return inWords(error.message)
}

/** Whether htmx asks, which puts the answer into a page that is open. */
export const isFragment = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => headers['hx-request'] === 'true'
