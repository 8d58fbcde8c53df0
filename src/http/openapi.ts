import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import type { App } from './fastify-app.js'
import { headersOf } from './response-headers.js'

interface ApiOrigins {
  /** The public origin of the Personal Access API. */
  readonly baseUrl: string
  /** The public origin of Create Image. */
  readonly apiBaseUrl: string
}

/** The parts of the API, as its description groups them. A route without one of these tags is not described. */
const TAGS = {
  Account: 'Who you are, your credits, and what may be asked for',
  Generations: 'Submit, follow and cancel generations, and look back on them',
  Images: 'The images of your account',
  Webhooks: 'Be told when something has ended',
  'Create Image': 'One image in one request',
} as const

/** What each status means, on either interface. A refusal's body and `X-Error-Code` say more. */
const MEANINGS: Readonly<Record<string, string>> = {
  200: 'Done',
  201: 'Created',
  202: 'Accepted; it goes on without you',
  204: 'Done; there is nothing to say',
  304: 'As you have it already',
  400: 'The request is not valid, or the prompt was flagged by moderation',
  401: 'Missing or invalid API key',
  402: 'Not enough credits',
  403: 'No active subscription, or not available',
  404: 'Not found',
  409: 'A request with this Idempotency-Key is still being processed',
  413: 'The body is larger than 64 KiB',
  415: 'The body is not application/json',
  422: 'This Idempotency-Key was used with another body',
  429: 'A limit is reached; `Retry-After` says when to come back',
  500: 'The generation failed, or the server did',
  503: 'Temporarily unavailable; `Retry-After` says when to come back',
  504: 'The image was not ready in time',
}

/**
 * Describes every route that has a tag, from its zod schemas, in one OpenAPI 3.1 document. Serves it as /openapi.json,
 * and in short as /llms.txt. Register it before the routes.
 */
export async function describeApi(app: App, origins: ApiOrigins): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Easel',
        version: '1.0.0',
        summary: 'Image generation from text prompts',
        description:
          'The asynchronous Personal Access API under /api/v1, and the synchronous Create Image under /v1. ' +
          'Version 1 only ever gets additions: new endpoints, new headers, new optional fields of requests.',
        license: { name: 'All rights reserved', url: `${origins.baseUrl}/` },
      },
      servers: [{ url: origins.baseUrl }],
      security: [{ apiKey: [] }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer <API_KEY>`' },
        },
      },
    },
    hideUntagged: true,
    transform: jsonSchemaTransform,
    transformObject: (document) => completed(jsonSchemaTransformObject(document) as OpenAPIV3_1.Document, origins),
  } as FastifyDynamicSwaggerOptions)
  const document = () => app.swagger() as OpenAPIV3_1.Document
  const forAll = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' }
  app.get('/openapi.json', async (_request, reply) => reply.headers(forAll).send(document()))
  app.get('/llms.txt', async (_request, reply) =>
    reply.headers(forAll).type('text/plain; charset=utf-8').send(llmsText(document())),
  )
}

/** Adds what no route says itself: what each status means, the headers of all answers, and where Create Image lives. */
function completed(document: OpenAPIV3_1.Document, { baseUrl, apiBaseUrl }: ApiOrigins): OpenAPIV3_1.Document {
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    if (path.startsWith('/v1/') && apiBaseUrl !== baseUrl && item) item.servers = [{ url: apiBaseUrl }]
    for (const operation of Object.values(item ?? {}) as OpenAPIV3_1.OperationObject[]) {
      for (const [status, response] of Object.entries(operation.responses ?? {})) {
        const headers = headersOf(operation.operationId, Number(status))
        Object.assign(response, { description: MEANINGS[status], headers })
      }
    }
  }
  return withoutUnused(document)
}

/** Drops the schemas that nothing refers to: every schema comes in two forms, for requests and for answers. */
function withoutUnused(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const schemas = document.components?.schemas ?? {}
  const used = new Set<string>()
  const visit = (part: unknown) => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      visit(schemas[name])
    }
  }
  visit(document.paths)
  const kept = Object.entries(schemas).filter(([name]) => used.has(name))
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(kept.sort()) } }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The API in short for language models (llmstxt.org): how to call it, and one line for every endpoint. */
function llmsText({ info, tags = [], paths = {}, servers = [] }: OpenAPIV3_1.Document): string {
  const [server] = servers
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method]
      return operation ? [{ path, method: method.toUpperCase(), ...operation }] : []
    }),
  )
  const sections = tags.map(({ name, description }) => {
    const lines = operations
      .filter(({ tags: [tag] = [] }) => tag === name)
      .map(({ method, path, summary, description: more }) => `- \`${method} ${path}\`: ${summary}. ${more}`)
    return lines.length === 0 ? '' : `## ${name}\n\n${description}.\n\n${lines.join('\n')}\n`
  })
  return `# ${info.title}

> ${info.summary}. ${info.description}

Base address: ${server?.url}. Send the header \`Authorization: Bearer <API_KEY>\`. Bodies are JSON. Errors are one sentence in
\`error\` (on Create Image in \`error.message\`), with a stable code in the header \`X-Error-Code\`; after a 429 or 503 wait for
\`Retry-After\` seconds. To make an image: GET /api/v1/models, POST /api/v1/generate with the \`id\` of one as
\`model_version_id\` and an \`Idempotency-Key\`, then GET the \`poll_url\` until \`status\` is \`succeeded\` or \`failed\`.

The full description, with every field and bound: [OpenAPI 3.1](${server?.url}/openapi.json).

${sections.filter(Boolean).join('\n')}`
}
