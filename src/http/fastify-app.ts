import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'

/** Fastify as every route and hook here gets it: its schemas are zod's. */
export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

declare module 'fastify' {
  interface FastifyInstance {
    /** Where a generation can be polled. */
    pollUrl(generationId: string): string
    /** The website's page of an image. */
    pageUrl(slug: string): string
  }
}
