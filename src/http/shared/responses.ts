/** Views of the core's values and the way back, and the values of examples. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { camelCase } from '../../lib/names.js'

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : S

/** What a field of a view is made from. */
type CoreValue<V> = V extends readonly (infer Item)[] ? readonly Item[] : string extends V ? V | Date : V

type CoreFields<View> = { readonly [Name in keyof View & string as CamelCase<Name>]: CoreValue<View[Name]> }

type CoreNames<Body> = { readonly [Name in keyof Body & string as CamelCase<Name>]: Body[Name] }

/** Shows the fields of a core value that the schema names: camelCase becomes snake_case, dates become ISO 8601. */
export function viewOf<Shape extends z.ZodRawShape>(
  { shape }: z.ZodObject<Shape>,
  value: CoreFields<z.output<z.ZodObject<Shape>>>,
): z.output<z.ZodObject<Shape>> {
  const fields = value as Readonly<Record<string, unknown>>
  const shown: Record<string, unknown> = {}
  for (const name in shape) {
    const field = fields[camelCase(name)]
    shown[name] = field instanceof Date ? field.toISOString() : field
  }
  return shown as z.output<z.ZodObject<Shape>>
}

/** The opposite of a view: the fields of a body that the shape names, as the core calls them. */
export function coreOf<Body extends object>(shape: Readonly<Record<keyof Body, z.ZodType>>, body: Body) {
  const fields = Object.keys(shape).map((name) => [camelCase(name), body[name as keyof Body]])
  return Object.fromEntries(fields) as CoreNames<Body>
}

/** The generation in the examples of the API's description. */
export const EXAMPLE = {
  generationId: 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x',
  model: { model_version_id: 10, model_name: 'Pony Diffusion' },
  prompt: 'a lighthouse at dusk',
  seed: 1803774619,
  submittedAt: '2026-11-20T21:04:11.062Z',
  finishedAt: '2026-11-20T21:04:17.062Z',
  slug: 'Zk3vQ9xT1bN7mR4wY8cL2s',
  imageUrl: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png',
} as const

/** Aborts when the client has hung up; also once the answer is complete. */
export function clientGone(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  // The client has already hung up, so "close" does not come again.
  if (reply.raw.destroyed || request.raw.socket.destroyed) gone.abort()
  return gone.signal
}
