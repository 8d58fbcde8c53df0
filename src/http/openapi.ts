import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { ERROR_CODES } from '../errors.js'
import { STATUS } from './errors.js'
import type { App } from './fastify-app.js'
import { llmsText } from './llms-text.js'

export interface ApiOrigins {
  /** The public origin of the Personal Access API. */
  readonly baseUrl: string
  /** The public origin of Create Image. */
  readonly apiBaseUrl: string
}

/** The parts of the API, as its description groups them. A route without one of these tags is not described. */
const TAGS = {
  Account: 'Who you are, your credits, and what may be asked for',
  Generations: 'Submit, follow and cancel generations, and look back on them',
  Images: 'The pictures of your account',
  Webhooks: 'Be told when something has ended',
  'Create Image': 'One picture in one request',
} as const

/** What each refusal means, on either interface; its body and `X-Error-Code` say which one it is. */
const REFUSALS: Readonly<Record<string, string>> = {
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
  504: 'The picture was not ready in time',
}

const SUCCESSES: Readonly<Record<string, string>> = {
  200: 'Done',
  201: 'Created',
  202: 'Accepted; it goes on without you',
  204: 'Done; there is nothing to say',
  304: 'As you have it already',
}

const text = (description: string) => ({ description, schema: { type: 'string' as const } })
const whole = (description: string) => ({ description, schema: { type: 'integer' as const } })

const REQUEST_ID = { 'X-Request-Id': text('Names this answer') }
const errorCode = (status: number) => ({
  'X-Error-Code': {
    description: 'A stable code for programs',
    schema: { type: 'string' as const, enum: ERROR_CODES.filter((code) => STATUS[code] === status) },
  },
})
const LIMIT_HEADERS = {
  'X-RateLimit-Limit': whole('Requests that fit into the window'),
  'X-RateLimit-Remaining': whole('Requests left now'),
  'X-RateLimit-Reset': whole('Seconds until the oldest request leaves the window'),
}
const SUBMITTED = {
  'X-Credits-Remaining': whole('What you hold after the charge'),
  'Idempotent-Replayed': text('`true` on the answer to a repeat'),
}
const ACTIVE = {
  'X-Active-Generation': text('The generation that is active, if that is the reason'),
  Location: text('Where to poll it'),
}
const PACED = {
  'Retry-After': whole('Seconds until the next poll is worth it; absent at the end'),
  'X-Eta-Seconds': whole('Seconds to the expected end, once the model was measured'),
  'X-Progress': text('0 to 1, while it is drawn and the GPU server tells'),
}
const IGNORED = {
  'X-Ignored-Fields': text('The fields of the request that change nothing'),
}
const RETRIED = {
  'X-Should-Retry': text('`false` where a repeat would be charged again, as clients of OpenAI understand it'),
}
const TAG = { ETag: text('For `If-None-Match`') }

const on = (operation: string, statuses: readonly number[], headers: Readonly<Record<string, object>>) =>
  statuses.map((status) => [`${operation} ${status}`, headers] as const)

/** A wait ends like this after its submit was accepted. */
const WAITED = [404, 500, 503, 504]
/** What the answers of single operations say beside their body. */
const OWN_HEADERS: Readonly<Record<string, Readonly<Record<string, object>>>> = Object.fromEntries([
  ...on('submitGeneration', [201], SUBMITTED),
  ...on('submitGeneration', [429], ACTIVE),
  ...on('createImage', [200, ...WAITED], SUBMITTED),
  ...on('createImage', [202], { ...SUBMITTED, 'Webhook-Secret': text('Signs what `webhook_url` is told') }),
  ...on('createImage', [429], ACTIVE),
  ...on('createOpenAiImages', [402, 403, 409, 413, 415, 422], IGNORED),
  ...on('createOpenAiImages', [200], { ...SUBMITTED, ...IGNORED }),
  ...on('createOpenAiImages', WAITED, { ...SUBMITTED, ...IGNORED, ...RETRIED }),
  ...on('createOpenAiImages', [400, 429], { ...ACTIVE, ...IGNORED }),
  ...on('pollGeneration', [200, 304], { ...PACED, ...TAG }),
  ...on('getCapabilities', [200, 304], TAG),
])
const RETRY_AFTER = { 'Retry-After': whole('Seconds to wait before the next try') }

/**
 * Collects every route that has a tag, from its zod schemas, into one OpenAPI 3.1 description, and serves it as
 * /openapi.json, and in short as /llms.txt. To be registered before the routes.
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

/** Adds what no route has to say itself: what refusals mean, the headers of all answers, and where Create Image lives. */
function completed(document: OpenAPIV3_1.Document, { baseUrl, apiBaseUrl }: ApiOrigins): OpenAPIV3_1.Document {
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    if (path.startsWith('/v1/') && apiBaseUrl !== baseUrl && item) item.servers = [{ url: apiBaseUrl }]
    for (const operation of Object.values(item ?? {}) as OpenAPIV3_1.OperationObject[]) {
      for (const [status, response] of Object.entries(operation.responses ?? {})) {
        const headers = Number(status) < 400 ? REQUEST_ID : { ...errorCode(Number(status)), ...REQUEST_ID }
        const retry = ['409', '429', '503'].includes(status) ? RETRY_AFTER : {}
        const limit = status === '401' ? {} : LIMIT_HEADERS
        Object.assign(response, {
          description: REFUSALS[status] ?? SUCCESSES[status],
          headers: { ...headers, ...retry, ...limit, ...OWN_HEADERS[`${operation.operationId} ${status}`] },
        })
      }
    }
  }
  return withoutUnused(document)
}

/** Every schema comes out twice, as it is read and as it is written; what nothing refers to is left out. */
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
