import { closest, distance } from 'fastest-levenshtein'
import type { FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type AppError, invalidParameter } from '../errors.js'

/** The names that clients of other services use for our fields. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  batch_size: ['n', 'num_images', 'images', 'count', 'batch'],
  model_version_id: ['model', 'model_id', 'version', 'version_id'],
  model: ['model_version_id', 'model_id', 'model_name'],
  cfg_scale: ['guidance_scale', 'guidance', 'cfg'],
  steps: ['num_inference_steps', 'sample_steps'],
  sampler: ['sampler_name', 'scheduler', 'sample_method'],
  prompt: ['text', 'input'],
  width: ['size'],
}

/** The first mistake in a request, as one sentence and the field's name. */
export function toInvalidParameter(thrown: unknown, request: FastifyRequest): AppError | undefined {
  if (!hasZodFastifySchemaValidationErrors(thrown)) return undefined
  const issues = thrown.validation
  // A misspelt field may be why another one is missing, so it comes first.
  const unknown = issues.find(({ keyword }) => keyword === 'unrecognized_keys')
  const part = thrown.validationContext === 'querystring' ? 'querystring' : 'body'
  if (unknown) {
    const [key = ''] = (unknown.params as { keys?: string[] }).keys ?? []
    return unknownField(part === 'body' ? 'field' : 'query parameter', key, knownFields(request, part))
  }
  const [first] = issues
  const parameter = first?.instancePath.split('/').filter(Boolean).join('.') || 'body'
  return invalidParameter(parameter, first?.message ?? 'The request is not valid.')
}

function unknownField(kind: string, key: string, known: readonly string[]): AppError {
  const shown = key.length > 50 ? `${key.slice(0, 50)}…` : key
  const meant = likelyField(key, known)
  return invalidParameter(
    shown,
    meant
      ? `Unknown ${kind} "${shown}": did you mean "${meant}"?`
      : `Unknown ${kind} "${shown}": remove it or check its name.`,
  )
}

function likelyField(key: string, known: readonly string[]): string | undefined {
  const name = key
    .slice(0, 50)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[-\s]/g, '_')
    .toLowerCase()
  const alias = known.find((field) => field === name || ALIASES[field]?.includes(name))
  if (alias) return alias
  const nearest = known.length > 0 ? closest(name, known) : undefined
  return nearest && distance(name, nearest) <= Math.max(1, Math.floor(nearest.length / 3)) ? nearest : undefined
}

function knownFields(request: FastifyRequest, part: 'body' | 'querystring'): string[] {
  let schema: unknown = request.routeOptions.schema?.[part]
  while (schema instanceof z.ZodPipe) schema = schema.in
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}
