import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { fastify, type RouteOptions } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { ERROR_CODES } from '../../core/errors.js'
import type { Site } from '../../core/site.js'
import type { Descriptions } from '../shared/api-descriptions.js'
import { statusOf } from '../shared/error-bodies.js'
import { type App, schemaController } from '../shared/fastify-app.js'
import { ADMIN_MEANINGS, ADMIN_TAGS, MEANINGS, TAGS } from './openapi-words.js'

/** The public origins of the Personal Access API and of Create Image, and whose they are. */
interface ApiOrigins {
  readonly baseUrl: string
  readonly apiBaseUrl: string
  readonly site: Site
}

const textHeader = (description: string) => ({ description, schema: { type: 'string' as const } })
const integerHeader = (description: string) => ({ description, schema: { type: 'integer' as const } })

const LIMIT_HEADERS = {
  'X-RateLimit-Limit': integerHeader('Requests that fit into the window'),
  'X-RateLimit-Remaining': integerHeader('Requests left now'),
  'X-RateLimit-Reset': integerHeader('Seconds until the oldest request leaves the window'),
}
const SUBMITTED = {
  'X-Credits-Remaining': integerHeader('What you hold after the charge'),
  'Idempotent-Replayed': textHeader('`true` on the answer to a repeat'),
}
const ACTIVE_GENERATION = {
  'X-Active-Generation': textHeader('The generation that is active, if that is the reason'),
  Location: textHeader('Where to poll it'),
}
const PACED = {
  'Retry-After': integerHeader('Seconds until the next poll is worth it; absent at the end'),
  'X-Eta-Seconds': integerHeader('Seconds to the expected end, once the model was measured'),
  'X-Progress': textHeader('0 to 1, while it is drawn and the GPU server tells'),
}
const IGNORED = { 'X-Ignored-Fields': textHeader('The fields of the request that change nothing') }
const REPEATED = {
  'X-Should-Retry': textHeader('`false` where a repeat would be charged again, as clients of OpenAI understand it'),
}
const TAG = { ETag: textHeader('For `If-None-Match`') }

const REPLAYED = { 'Idempotent-Replayed': textHeader('`true` on the answer to a repeat') }

/** How a request that waits for its generation can fail. */
const WAITED = [404, 500, 503, 504]
/** The headers that only some answers have. */
const OWN_HEADERS: readonly (readonly [operation: string, statuses: readonly number[], headers: object])[] = [
  ['submitGeneration', [201], SUBMITTED],
  ['submitGeneration', [200, 201], IGNORED],
  ['submitGeneration', [429], ACTIVE_GENERATION],
  ['createImage', [200, 202, ...WAITED], { ...SUBMITTED, ...IGNORED }],
  ['createImage', [202], { 'Webhook-Secret': textHeader('Signs what `webhook_url` is told') }],
  ['createImage', [429], ACTIVE_GENERATION],
  ['createOpenAiImages', [200, ...WAITED], SUBMITTED],
  ['createOpenAiImages', [400, 429], ACTIVE_GENERATION],
  ['createOpenAiImages', [200, 400, 402, 403, 409, 413, 415, 422, 429, ...WAITED], IGNORED],
  ['createOpenAiImages', WAITED, REPEATED],
  ['pollGeneration', [200, 304], { ...PACED, ...TAG }],
  ['getCapabilities', [200, 304], TAG],
  ['listModels', [200, 304], TAG],
]

/** The descriptions of all headers that an operation's answers with this status have. */
function headersOf(operationId: string | undefined, status: number): Record<string, object> {
  const own = OWN_HEADERS.filter(([operation, statuses]) => operation === operationId && statuses.includes(status))
  const codes = ERROR_CODES.filter((code) => statusOf(code) === status)
  const errorCode = { description: 'A stable code for programs', schema: { type: 'string', enum: codes } }
  return {
    ...(status >= 400 && { 'X-Error-Code': errorCode }),
    'X-Request-Id': textHeader('Names this answer'),
    ...([409, 429, 503].includes(status) && { 'Retry-After': integerHeader('Seconds to wait before the next try') }),
    ...(status !== 401 && LIMIT_HEADERS),
    ...Object.assign({}, ...own.map(([, , headers]) => headers)),
  }
}

/**
 * Describes every route that has a tag, from its zod schemas, in one OpenAPI 3.1 document. Serves it as /openapi.json,
 * and in short as /llms.txt. Call it before the routes are registered.
 * @returns makes the documents once they are: their generator is loaded when it is first asked for
 */
export function describeApi(app: App, origins: ApiOrigins): Descriptions {
  const routes: RouteOptions[] = []
  const adminRoutes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    if (!route.schema?.tags || route.method === 'HEAD') return
    const its = route.url.startsWith(`${ADMIN}/`) ? adminRoutes : routes
    its.push(route)
  })
  const document = onceDone(() => documentOf(routes, apiInfo(origins), (it) => completed(it, origins)))
  const adminDocument = onceDone(() => documentOf(adminRoutes, adminInfo(origins), completedAdmin))
  const forAll = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' }
  app.get(`${ADMIN}/openapi.json`, async (_request, reply) => reply.headers(forAll).send(await adminDocument()))
  app.get('/openapi.json', async (_request, reply) => reply.headers(forAll).send(await document()))
  app.get('/llms.txt', async (_request, reply) =>
    reply
      .headers(forAll)
      .type('text/plain; charset=utf-8')
      .send(llmsText(await document())),
  )
  return { api: document, admin: adminDocument }
}

const ADMIN = '/admin/v1'

/** A failure is forgotten. */
function onceDone<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => {
    done ??= work().catch((error) => {
      done = undefined
      throw error
    })
    return done
  }
}

const licenseOf = ({ baseUrl }: ApiOrigins) => ({ name: 'All rights reserved', url: `${baseUrl}/` })
const tagsOf = (tags: Readonly<Record<string, string>>) =>
  Object.entries(tags).map(([name, description]) => ({ name, description }))

const apiInfo = (origins: ApiOrigins) => ({
  info: {
    title: origins.site.name,
    version: '1.0.0',
    summary: 'Image generation from text prompts',
    description:
      'The asynchronous Personal Access API under /api/v1, and the synchronous Create Image under /v1. ' +
      'Version 1 only ever gets additions: new endpoints, new headers, new optional fields of requests.',
    license: licenseOf(origins),
  },
  servers: [{ url: origins.baseUrl }],
  tags: tagsOf(TAGS),
})

const adminInfo = (origins: ApiOrigins) => ({
  info: {
    title: 'Easel administration',
    version: '1.0.0',
    summary: 'What operators do on the command line, over HTTP',
    description:
      'For the keys of operators, which `easel key create NAME --operator` makes. A request that changes something is recorded ' +
      'as an act of `USERNAME (key NAME)`, with the reason that the header `X-Reason` or the field `reason` says.',
    license: licenseOf(origins),
  },
  servers: [{ url: origins.baseUrl }],
  tags: tagsOf(ADMIN_TAGS),
})

/** Declares the routes again, on an app that serves nothing: the generator takes memory and time that few servers need. */
async function documentOf(
  routes: readonly RouteOptions[],
  about: ReturnType<typeof apiInfo>,
  complete: (document: OpenAPIV3_1.Document) => OpenAPIV3_1.Document,
): Promise<OpenAPIV3_1.Document> {
  const app = fastify({ schemaController, exposeHeadRoutes: false })
  await app.register(import('@fastify/swagger'), {
    openapi: {
      openapi: '3.1.0',
      ...about,
      security: [{ apiKey: [] }, { apiKeyHeader: [] }],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer <API_KEY>`' },
          apiKeyHeader: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: 'The same key; `Authorization: Bearer` comes first where both are sent',
          },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => complete(jsonSchemaTransformObject(document) as OpenAPIV3_1.Document),
  } as FastifyDynamicSwaggerOptions)
  for (const { method, url, schema = {} } of routes) app.route({ method, url, schema, handler: () => undefined })
  await app.ready()
  return app.swagger() as OpenAPIV3_1.Document
}

const operationsOf = (item: object | undefined) => Object.entries(item ?? {}) as [string, OpenAPIV3_1.OperationObject][]

/** Adds what no route of /admin/v1 says itself: what each status means, and the headers of all answers. */
function completedAdmin(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  for (const item of Object.values(document.paths ?? {}))
    for (const [method, { responses = {} }] of operationsOf(item))
      for (const [status, response] of Object.entries(responses)) {
        const own = method === 'post' && status.startsWith('2') ? REPLAYED : {}
        const description = ADMIN_MEANINGS[status] ?? MEANINGS[status]
        Object.assign(response, { description, headers: { ...headersOf(undefined, Number(status)), ...own } })
      }
  return withNamedAnswers(document, true)
}

/** Adds what no route says itself: what each status means, the headers of all answers, and where Create Image lives. */
function completed(document: OpenAPIV3_1.Document, { baseUrl, apiBaseUrl }: ApiOrigins): OpenAPIV3_1.Document {
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    if (path.startsWith('/v1/') && apiBaseUrl !== baseUrl && item) item.servers = [{ url: apiBaseUrl }]
    for (const [, { operationId, responses = {} }] of operationsOf(item))
      for (const [status, response] of Object.entries(responses))
        Object.assign(response, { description: MEANINGS[status], headers: headersOf(operationId, Number(status)) })
  }
  return withNamedAnswers(document)
}

/**
 * Every schema comes in two forms, for requests and for answers; only those of answers have a name. Those of /admin/v1 begin
 * with `Admin`: the generator knows the names of both documents.
 */
function withNamedAnswers(document: OpenAPIV3_1.Document, isAdmin = false): OpenAPIV3_1.Document {
  const isOwn = (name: string) => name.startsWith('Admin') === isAdmin || name === 'Problem'
  const all = Object.entries(document.components?.schemas ?? {})
  const named = all.filter(([name]) => !name.endsWith('Input') && isOwn(name))
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(named.sort()) } }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The API in short for language models (llmstxt.org): how to call it, and one line for every endpoint. */
function llmsText({ info, tags = [], paths = {}, servers: [server] = [] }: OpenAPIV3_1.Document): string {
  const linesOf = (tag: string) =>
    Object.entries(paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const { summary, description, tags: [ownTag] = [] } = item?.[method] ?? {}
        return ownTag === tag ? [`- \`${method.toUpperCase()} ${path}\`: ${summary}. ${description}`] : []
      }),
    )
  const sections = tags.map(({ name, description }) => `## ${name}\n\n${description}.\n\n${linesOf(name).join('\n')}\n`)
  return `# ${info.title}

> ${info.summary}. ${info.description}

Base address: ${server?.url}. Send the header \`Authorization: Bearer <API_KEY>\` (or \`X-API-Key: <API_KEY>\`). Bodies are JSON. Errors are one sentence in
\`error\` (on Create Image in \`error.message\`), with a stable code in the header \`X-Error-Code\`; after a 429 or 503 wait for
\`Retry-After\` seconds. To make an image: GET /api/v1/models (\`defaults.model_version_id\` of GET /api/v1/capabilities is the default one), POST /api/v1/generate with the \`id\` of one as
\`model_version_id\` and an \`Idempotency-Key\`, then GET the \`poll_url\` until \`status\` is \`succeeded\` or \`failed\`.

The full description, with every field and bound: [OpenAPI 3.1](${server?.url}/openapi.json). The same to read, with samples and
advice: [the reference as Markdown](${server?.url}/docs.md).

${sections.join('\n')}`
}
