import type { OpenAPIV3_1 } from 'openapi-types'
import { LANGUAGES, type Samples, samplesOf } from '../samples.js'
import {
  answerFields,
  bodyFields,
  exampleOf,
  type Field,
  nameOf,
  parameterField,
  type Schema,
  type Schemas,
} from './fields.js'

interface ReferenceOptions {
  readonly baseUrl: string
  /** What stands before the operations, in Markdown. */
  readonly chapters: string
  /** What stands there for `{name}`, besides what is known of the document. */
  readonly facts: Readonly<Record<string, string | number>>
  readonly samples: SampleOptions
}

export interface SampleOptions {
  readonly languages: readonly (keyof Samples)[]
  /** For `{id}` in a path, by the tag of its operation, and for the other names. */
  readonly ids: Readonly<Record<string, string>>
  /** Of the fields that a body must have. */
  readonly values: Readonly<Record<string, unknown>>
  /** What bodies have besides, by the ID of the operation. */
  readonly optional?: Readonly<Record<string, object>>
}

interface Operation extends Omit<OpenAPIV3_1.OperationObject, 'parameters' | 'requestBody' | 'responses'> {
  readonly method: string
  readonly path: string
  /** The origin, where the interface has one of its own. */
  readonly origin: string | undefined
  readonly parameters?: OpenAPIV3_1.ParameterObject[]
  readonly requestBody?: OpenAPIV3_1.RequestBodyObject
  readonly responses: Record<string, Answer>
}
type Answer = Omit<OpenAPIV3_1.ResponseObject, 'headers'> & {
  readonly headers?: Record<string, OpenAPIV3_1.HeaderObject>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
/** Every answer has them, or every answer of its status. */
const COMMON_HEADERS = /^X-(Request-Id|Error-Code|RateLimit-.*)$/

/**
 * The whole reference: the chapters, then every operation of the document. Each heading links to
 * itself, which names its anchor. In the cells of fields `<br>` separates the rules from the description.
 */
export function referenceMarkdown(document: OpenAPIV3_1.Document, options: ReferenceOptions): string {
  const { baseUrl } = options
  const operations = operationsOf(document)
  const errors = errorsOf(operations)
  const common = errors.filter(([status]) => operations.every(({ responses }) => responses[status]))
  const facts: Readonly<Record<string, unknown>> = {
    ...options.facts,
    site_name: document.info.title,
    summary: document.info.summary,
    description: document.info.description,
    base_url: baseUrl,
    errors: table(
      ['Status', 'Meaning', '`X-Error-Code`'],
      errors.map(([status, answer]) => [
        status,
        answer.description,
        codesOf(answer)
          .map((it) => `\`${it}\``)
          .join(', '),
      ]),
    ),
    common_errors: common.map(([status]) => status).join(', '),
  }
  const chapters = options.chapters.trim().replace(/\{(\w+)\}/g, (all, name: string) => String(facts[name] ?? all))
  const show = operationParts(document, new Set(common.map(([status]) => status)), options)
  const groups = (document.tags ?? []).flatMap(({ name, description }) => [
    // An operation may have the name of its group.
    heading(2, name, `about-${idOf(name)}`),
    `${description}.`,
    ...operations
      .filter(({ tags }) => tags?.includes(name))
      .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
      .flatMap(show),
  ])
  return `${[chapters, ...groups].join('\n\n')}\n`
}

/** The reference as a file for language models, and for those who keep it: operations have samples in curl alone. */
export function markdownFile(markdown: string, baseUrl: string): string {
  const [chapters = '', ...operations] = markdown.split(/^(?=### )/m)
  const brief = operations.map((it) => it.replace(/^```(python|ts)\n.*?^```\n\n/gms, ''))
  return (
    [chapters, ...brief]
      .join('')
      .replace(/^(#+) \[(.+)\]\(#.+\)$/gm, '$1 $2')
      .replace(/\| <br>/g, '| ')
      .replaceAll('<br>', '. ')
      // Addresses of this website, which a file that was saved elsewhere does not know.
      .replace(/\]\((#|\/)/g, (_, first: string) => `](${baseUrl}${first === '#' ? '/docs' : ''}${first}`)
  )
}

const operationsOf = ({ paths = {} }: OpenAPIV3_1.Document): Operation[] =>
  Object.entries(paths).flatMap(([path, item = {}]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      ...(item[method] as Omit<Operation, 'method' | 'path' | 'origin'>),
      method: method.toUpperCase(),
      path,
      origin: item.servers?.[0]?.url,
    })),
  )

const codesOf = ({ headers }: Answer): readonly string[] => (headers?.['X-Error-Code']?.schema as Schema)?.enum ?? []

function errorsOf(operations: readonly Operation[]): [status: string, answer: Answer][] {
  const found = new Map(operations.flatMap(({ responses }) => Object.entries(responses)))
  return [...found].filter(([status]) => Number(status) >= 400).sort(([a], [b]) => Number(a) - Number(b))
}

function operationParts(
  { components }: OpenAPIV3_1.Document,
  commonErrors: ReadonlySet<string>,
  { baseUrl, samples: { languages, ids, values, optional } }: ReferenceOptions,
): (operation: Operation) => string[] {
  const schemas: Schemas = components?.schemas ?? {}
  const withBase = (text: string) => text.replaceAll('{base_url}', baseUrl)
  /** By the name of a schema: a link to the first operation whose answer has its fields. */
  const described = new Map<string, string>()

  function answerParts(status: string, answer: Answer, link: string, inFirst: Answer['headers']): string[] {
    const [[contentType, { schema = {} }] = [undefined, {}]] = Object.entries(answer.content ?? {})
    const name = '$ref' in schema ? nameOf(schema.$ref) : ''
    const like = described.get(name)
    if (name && !like) described.set(name, link)
    const { description } = (name ? (schemas[name] ?? {}) : schema) as Schema
    const example = like || contentType === 'image/png' ? undefined : exampleOf(schema, schemas)
    const headers = Object.entries(answer.headers ?? {}).filter(
      ([header]) => !COMMON_HEADERS.test(header) && !(status === '304' && inFirst && header in inFirst),
    )
    const isJson = contentType === undefined || contentType === 'application/json'
    return [
      `#### Answer ${status}: ${asText(answer.description)}${isJson ? '' : ` \`${contentType}\``}`,
      description ? asText(withBase(description)) : '',
      like ? `The fields are those of ${like}.` : '',
      fieldTable([
        ...(contentType && !like ? answerFields(schema, schemas) : []).map((it) => ({
          ...it,
          description: withBase(it.description),
        })),
        ...headers.map(([header, { description = '' }]) => ({
          ...{ name: header, type: 'header', required: false, notes: [], description },
        })),
      ]),
      contentType && example
        ? fenced(example.replaceAll('https://easel.example', baseUrl), isJson ? 'json' : 'text')
        : '',
    ]
  }

  return ({ method, path, origin, operationId = '', summary = '', description = '', tags = [], ...operation }) => {
    const { parameters = [], requestBody, responses } = operation
    const id = idOf(operationId)
    const body = requestBody?.content['application/json']?.schema
    const answers = Object.entries(responses).filter(([status]) => Number(status) < 400)
    const errors = Object.keys(responses).filter((status) => Number(status) >= 400 && !commonErrors.has(status))
    const samples = samplesOf({
      method,
      url:
        (origin ?? baseUrl) +
        path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name === 'id' ? (tags[0] ?? '') : name] ?? ''),
      body: body && { ...sampleBody(body as Schema, values), ...optional?.[operationId] },
      contentType: Object.keys(answers.find(([status]) => status !== '304')?.[1].content ?? {})[0],
    })
    const fields = parameters
      .map((parameter) => parameterField(parameter, schemas))
      .sort((a, b) => placeOf(a) - placeOf(b))
    return [
      heading(3, summary, id),
      `\`${method} ${path}\`${origin && origin !== baseUrl ? ` at \`${origin}\`` : ''}`,
      asText(withBase(description)),
      ...(fields.length > 0 ? ['#### Parameters', fieldTable(fields)] : []),
      ...(body ? ['#### Body', fieldTable(bodyFields(body, schemas))] : []),
      fencedSamples(samples, languages),
      ...answers.flatMap(([status, answer]) =>
        answerParts(status, answer, `[${summary}](#${id})`, responses['200']?.headers),
      ),
      errors.length > 0 ? `Further [errors](#errors): ${errors.join(', ')}` : '',
    ].filter((part) => part !== '')
  }
}

const idOf = (name: string): string => name.replace(/([a-z])([A-Z])|\s+/g, '$1-$2').toLowerCase()

const heading = (depth: number, text: string, id: string) => `${'#'.repeat(depth)} [${text}](#${id})`

const fenced = (text: string, language: string) => `\`\`\`${language}\n${text}\n\`\`\``

export const fencedSamples = (samples: Samples, languages: SampleOptions['languages']): string =>
  LANGUAGES.filter(([language]) => languages.includes(language))
    .map(([language, , fence]) => fenced(samples[language], fence))
    .join('\n\n')

/** A `<` outside of code would begin an element. */
const asText = (text: string) => text.replace(/(`[^`]*`)|</g, (_, code: string | undefined) => code ?? '\\<')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

const fieldTable = (fields: readonly Field[]): string =>
  fields.length === 0
    ? ''
    : table(
        ['Name', 'Type', 'Description'],
        fields.map(({ name, type, required, notes, description }) => {
          const rules = [...(required ? ['required'] : []), ...notes].join('; ')
          return [`\`${name}\``, type, rules + (description && `<br>${asText(description)}`)]
        }),
      )

const placeOf = ({ notes: [place = ''] }: Field) => ['in the path', 'in the query'].indexOf(place) >>> 0

const sampleBody = ({ required = [] }: Schema, values: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(required.map((name) => [name, values[name]]))
