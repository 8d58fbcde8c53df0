import { type AnySchema, resolved, type Schemas } from './fields.js'

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
