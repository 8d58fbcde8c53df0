import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Site } from '../../core/site.js'

/** Fastify as every route and hook here gets it: its schemas are zod's. */
export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

/**
 * The schemas of requests are checked by zod. Those of answers only describe and type them: exactly what a route returns
 * is sent. As factories, so that Fastify does not load the compilers that it comes with.
 */
export const schemaController = {
  // Its type asks for a compiler of JSON Schema.
  compilersFactory: { buildValidator: () => validatorCompiler as never, buildSerializer: () => () => JSON.stringify },
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The generation that it submitted or is about, for its line in the log; one in its path needs no note. */
    generationId: string | undefined
  }
  interface FastifyInstance {
    /** Where a generation can be polled. */
    pollUrl(generationId: string): string
    /** The website's page of an image. */
    pageUrl(slug: string): string
    /** What this installation shows of itself. */
    site: Site
  }
}
