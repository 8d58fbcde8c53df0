import type { OpenAPIV3_1 } from 'openapi-types'

type AnySchema = OpenAPIV3_1.ReferenceObject | OpenAPIV3_1.SchemaObject | Schema
/** `nullable` once it is resolved. */
export type Schema = OpenAPIV3_1.BaseSchemaObject & {
  readonly type?: string | readonly string[]
  readonly items?: AnySchema
  readonly nullable?: boolean
}
export type Schemas = Readonly<Record<string, OpenAPIV3_1.SchemaObject>>

/** One line of a table of parameters or fields. */
export interface Field {
  /** With its parents: `output.images[].url`. */
  readonly name: string
  readonly type: string
  readonly required: boolean
  /** In words: the default, the range, the values. */
  readonly notes: readonly string[]
  readonly description: string
}

/** More values than these are listed for requests alone, where one has to choose. */
const FEW = 6

/** What a reference stands for, and what `null` is an alternative to. */
function resolved(schema: AnySchema, schemas: Schemas): Schema {
  if ('$ref' in schema) return resolved(schemas[nameOf(schema.$ref)] ?? {}, schemas)
  const [only, ...others] = schema.anyOf?.filter((it) => '$ref' in it || it.type !== 'null') ?? []
  if (!only || others.length > 0 || only === schema) return schema
  const { anyOf, ...own } = schema
  return { ...resolved(only, schemas), ...own, nullable: anyOf?.length !== 1 }
}

/** The name of a schema that others refer to. */
export const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)

/** The fields of a request's body. Null counts as left out there, so it goes without saying. */
export const bodyFields = (schema: AnySchema, schemas: Schemas): Field[] => fieldsOf(schema, schemas, true)

/** The fields of an answer, with those inside of others. */
export const answerFields = (schema: AnySchema, schemas: Schemas): Field[] => fieldsOf(schema, schemas, false)

export function parameterField(parameter: OpenAPIV3_1.ParameterObject, schemas: Schemas): Field {
  const { name, in: place, required, description = '', schema = {} } = parameter
  const shown = place === 'header' ? name.replace(/(^|-)\w/g, (letters) => letters.toUpperCase()) : name
  const found = resolved(schema, schemas)
  return {
    name: shown,
    type: typeOf(found, schemas, true),
    required: required ?? false,
    notes: [`in the ${place}`, ...notesOf(found, true)],
    description,
  }
}

function fieldsOf(schema: AnySchema, schemas: Schemas, asked: boolean, prefix = ''): Field[] {
  const whole = resolved(schema, schemas)
  if (whole.type === 'array' && whole.items) return fieldsOf(whole.items, schemas, asked, `${prefix.slice(0, -1)}[].`)
  const variants = whole.oneOf?.map((variant) => resolved(variant, schemas)) ?? [whole]
  const names = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)))
  return [...names].flatMap((name) => {
    const having = variants.filter(({ properties = {} }) => name in properties)
    const [first] = having.map(({ properties = {} }) => properties[name] as Schema)
    if (!first) return []
    const values = having.map(({ properties = {} }) => (properties[name] as Schema).const)
    // Variants are told apart by `status`: it has the values of them all.
    const property = values.length > 1 && !values.includes(undefined) ? { type: 'string', enum: values } : first
    const found = resolved(property, schemas)
    const required = having.every((variant) => variant.required?.includes(name))
    const notes = [
      ...(!asked && !required ? ['may be absent'] : []),
      ...(having.length < variants.length ? [`only with ${having.map(statusOf).join(', ')}`] : []),
      ...notesOf(found, asked),
    ]
    const { description = '' } = found
    const type = typeOf(found, schemas, asked)
    const inner = fieldsOf(found, schemas, asked, `${prefix}${name}.`)
    // The names of the inner ones say that it is there.
    if (inner.length > 0 && `${notes}${description}` === '' && !type.includes(' or ')) return inner
    return [{ name: prefix + name, type, required: asked && required, notes, description }, ...inner]
  })
}

const statusOf = ({ properties = {} }: Schema): string =>
  `\`${String((properties.status as Schema | undefined)?.const)}\``

function typeOf(schema: Schema, schemas: Schemas, asked: boolean): string {
  const { type, format, items, nullable, enum: values, anyOf: variants } = schema
  if (!type && !values && variants)
    return [...new Set(variants.map((it) => typeOf(resolved(it, schemas), schemas, asked)))].join(' or ')
  const types = typeof type === 'string' ? [type] : (type ?? [typeof values?.[0]])
  const words = types.filter((one) => one !== 'null').map((one) => wordOf(one, format, items, schemas))
  const orNull = !asked && (nullable || types.includes('null'))
  return (words.length > 0 ? [...words, ...(orNull ? ['null'] : [])] : ['null']).join(' or ')
}

function wordOf(type: string, format: string | undefined, items: AnySchema | undefined, schemas: Schemas): string {
  if (type === 'array' && items) {
    const its = resolved(items, schemas)
    return its.type || its.enum ? `list of ${typeOf(its, schemas, true)}s` : 'list'
  }
  return format === 'date-time' ? 'date-time' : type
}

function notesOf(schema: Schema, asked: boolean): string[] {
  const { minimum, maximum, multipleOf, minLength, maxLength } = schema
  const values =
    (schema.items as Schema | undefined)?.enum ?? schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  const notes = asked || values.length <= FEW ? [values.map(inCode).join(', ')] : []
  // Zod bounds every integer by what a double holds, which says nothing.
  const [least, most] = [minimum, maximum].map((bound) => (Number.isSafeInteger((bound ?? 0) * 2) ? bound : undefined))
  if (asked) {
    notes.push(rangeOf(least, most), multipleOf ? `a multiple of ${multipleOf}` : '')
    const range = rangeOf(minLength, maxLength)
    notes.push(range && `${range} characters`)
    if (schema.default !== undefined) notes.push(`default ${inCode(schema.default)}`)
  }
  return notes.filter((note) => note !== '')
}

const inCode = (value: unknown): string => `\`${typeof value === 'string' && value ? value : JSON.stringify(value)}\``

function rangeOf(least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}`
  if (most !== undefined) return `at most ${most}`
  return least === undefined ? '' : `at least ${least}`
}

const WIDTH = 46

/** What an answer looks like: the schema's examples, or one that is put together from those of its parts. */
export function exampleOf(schema: AnySchema, schemas: Schemas): string | undefined {
  const { examples = [madeUp(schema, schemas)] } = resolved(schema, schemas)
  if (examples[0] === undefined) return undefined
  const texts = examples.map((example) => (typeof example === 'string' ? example.trim() : json(example)))
  return texts.join('\n\n')
}

/** Undefined where a part has no example. */
function madeUp(schema: AnySchema, schemas: Schemas): unknown {
  const { type, items, properties = {}, examples, nullable } = resolved(schema, schemas)
  if (examples) return examples[0]
  if (nullable || (typeof type === 'object' && type.includes('null'))) return null
  const item = items && madeUp(items, schemas)
  if (item !== undefined) return [item]
  const parts = Object.entries(properties).map(([name, part]) => [name, madeUp(part, schemas)] as const)
  return parts.length === 0 || parts.some(([, part]) => part === undefined) ? undefined : Object.fromEntries(parts)
}

/** As JSON.stringify, but what fits into a line stands in one. */
function json(value: unknown, indent = ''): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const items = Array.isArray(value)
    ? value.map((one) => json(one, inner))
    : Object.entries(value).map(([name, one]) => `"${name}": ${json(one, inner)}`)
  const line = `${open}${items.join(', ')}${close}`
  if (items.length === 0 || (line.length + indent.length <= WIDTH && !line.includes('\n'))) return line
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`
}
