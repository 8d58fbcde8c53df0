import { type Samples, samplesOf, wholePrograms } from '../../parts/samples.js'
import type { ApiAnswer, ApiDocument, ApiOperation, Schema } from './api-document.js'
import { exampleOf } from './examples.js'
import { answerFields, bodyFields, type Field, nameOf, parameterField } from './fields.js'
import { type Chapter, chapters, type Statuses } from './prose.js'

interface ReferenceOptions {
  readonly baseUrl: string
  readonly apiBaseUrl: string
  readonly rateLimit: { readonly max: number; readonly windowSeconds: number }
  /** What the samples draw with. */
  readonly modelVersionId: number
}

/** What the page and the Markdown show, in this order: neither looks at the document itself. */
export interface Reference {
  readonly baseUrl: string
  readonly summary: string
  readonly description: string
  readonly programs: Samples
  readonly chapters: readonly Chapter[]
  readonly groups: readonly Group[]
}

export interface Group {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** The origin, where it is not the website's. */
  readonly origin: string | undefined
  readonly summary: string
  readonly description: string
  readonly parameters: readonly Field[]
  readonly body: readonly Field[]
  readonly answers: readonly Answer[]
  /** Besides those that every operation may answer. */
  readonly errors: readonly { readonly status: string; readonly description: string }[]
  readonly samples: Samples
}

export interface Answer {
  readonly status: string
  readonly meaning: string
  /** Where there is more to say than its fields do. */
  readonly description: string | undefined
  readonly contentType: string | undefined
  readonly fields: readonly Field[]
  /** The operation above whose answer has the same fields. */
  readonly like: { readonly id: string; readonly summary: string } | undefined
  /** Those that not every answer has. */
  readonly headers: readonly { readonly name: string; readonly description: string }[]
  readonly example: string | undefined
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
/** Every answer has them, or every answer of its status. */
const COMMON_HEADERS = /^X-(Request-Id|Error-Code|RateLimit-.*)$/
const IDS: Readonly<Record<string, string>> = {
  Generations: 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x',
  Images: 'Zk3vQ9xT1bN7mR4wY8cL2s',
  Webhooks: 'whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5',
  'Create Image': 'noobai-xl',
}
const VALUES: Readonly<Record<string, unknown>> = {
  prompt: 'a lighthouse at dusk',
  url: 'https://example.com/easel',
}

export const idOf = (name: string): string => name.replace(/([a-z])([A-Z])|\s+/g, '$1-$2').toLowerCase()

/** Reads the whole reference out of the OpenAPI document. */
export function referenceOf(document: ApiDocument, options: ReferenceOptions): Reference {
  const { baseUrl } = options
  const operations = operationsOf(document)
  const statuses = statusesOf(operations.map(({ operation }) => operation))
  const described = new Map<string, { id: string; summary: string }>()
  return {
    baseUrl,
    summary: document.info.summary,
    description: document.info.description,
    programs: wholePrograms(baseUrl),
    chapters: chapters({ ...options, statuses }),
    groups: document.tags.map(({ name, description }) => ({
      // An operation may have the name of its group.
      id: `about-${idOf(name)}`,
      name,
      description,
      operations: operations
        .filter(({ operation }) => operation.tags.includes(name))
        .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
        .map((found) => shown(found, document, statuses, described, options)),
    })),
  }
}

interface Found {
  readonly method: string
  readonly path: string
  readonly servers: readonly { readonly url: string }[] | undefined
  readonly operation: ApiOperation
}

const operationsOf = ({ paths }: ApiDocument): Found[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      method: method.toUpperCase(),
      path,
      servers: item.servers as Found['servers'],
      operation: item[method] as ApiOperation,
    })),
  )

const codesOf = ({ headers }: ApiAnswer): readonly string[] =>
  (headers?.['X-Error-Code']?.schema.enum ?? []) as string[]

function statusesOf(operations: readonly ApiOperation[]): Statuses {
  const found = new Map<string, { description: string; codes: readonly string[]; everywhere: boolean }>()
  for (const { responses } of operations)
    for (const [status, answer] of Object.entries(responses))
      if (Number(status) >= 400)
        found.set(status, {
          description: answer.description,
          codes: codesOf(answer),
          everywhere: operations.every((operation) => operation.responses[status]),
        })
  return [...found].map(([status, facts]) => ({ status, ...facts })).sort((a, b) => Number(a.status) - Number(b.status))
}

function shown(
  { method, path, servers, operation }: Found,
  { components: { schemas } }: ApiDocument,
  statuses: Statuses,
  described: Map<string, { id: string; summary: string }>,
  { baseUrl, modelVersionId }: ReferenceOptions,
): Operation {
  const { operationId, summary, description, parameters = [], requestBody, responses, tags } = operation
  const id = idOf(operationId)
  const body = requestBody?.content['application/json']?.schema
  const origin = servers?.[0]?.url
  const withBase = (text: string) => text.replaceAll('{base_url}', baseUrl)
  const answers = Object.entries(responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, answer]): Answer => {
      const first = responses['200']?.headers ?? {}
      const [[contentType, content] = []] = Object.entries(answer.content ?? {})
      const name = content?.schema.$ref && nameOf(content.schema.$ref)
      const like = name === undefined ? undefined : described.get(name)
      if (name && !like) described.set(name, { id, summary })
      const text = content && (content.schema.$ref ? schemas[name as string] : content.schema)?.description
      const headers = Object.entries(answer.headers ?? {}).filter(
        ([header]) => !COMMON_HEADERS.test(header) && !(status === '304' && header in first),
      )
      return {
        status,
        meaning: answer.description,
        description: text && withBase(text),
        contentType,
        fields:
          content && !like
            ? answerFields(content.schema, schemas).map((it) => ({ ...it, description: withBase(it.description) }))
            : [],
        like,
        headers: headers.map(([header, it]) => ({ name: header, description: it.description })),
        example:
          content && contentType !== 'image/png'
            ? exampleOf(content.schema, schemas)?.replaceAll('https://easel.example', baseUrl)
            : undefined,
      }
    })
  const common = new Set(statuses.filter(({ everywhere }) => everywhere).map(({ status }) => status))
  return {
    id,
    method,
    path,
    origin: origin === baseUrl ? undefined : origin,
    summary,
    description: withBase(description),
    parameters: parameters
      .map((parameter) => parameterField(parameter, schemas))
      .sort((a, b) => placeOf(a) - placeOf(b)),
    body: body ? bodyFields(body, schemas) : [],
    answers,
    errors: Object.entries(responses)
      .filter(([status]) => Number(status) >= 400 && !common.has(status))
      .map(([status, answer]) => ({ status, description: answer.description })),
    samples: samplesOf({
      method,
      url: (origin ?? baseUrl) + path.replace('{id}', IDS[tags[0] ?? ''] ?? ''),
      body: body && sampleBody(body, { ...VALUES, model_version_id: modelVersionId }),
      contentType: answers.find(({ status }) => status !== '304')?.contentType,
    }),
  }
}

const placeOf = ({ notes: [place = ''] }: Field) => ['in the path', 'in the query'].indexOf(place) >>> 0

const sampleBody = ({ required = [] }: Schema, values: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(required.map((name) => [name, values[name]]))
