import type { ApiDocument, Schema } from './api-document.js'
import { resolved } from './fields.js'

type Schemas = ApiDocument['components']['schemas']
const WIDTH = 60

/** What an answer looks like: the schema's examples, or one that is made up where it has none. */
export function exampleOf(schema: Schema, schemas: Schemas): string | undefined {
  const { examples = [madeUp(schema, schemas)] } = resolved(schema, schemas)
  const texts = examples.map((example) => (typeof example === 'string' ? example.trim() : json(example)))
  return texts.join('\n')
}

function madeUp(schema: Schema, schemas: Schemas): unknown {
  const found = resolved(schema, schemas)
  const { type, items, properties = {}, examples, nullable } = found
  if (examples) return examples[0]
  if (nullable || (typeof type === 'object' && type.includes('null'))) return null
  if (found.const !== undefined) return found.const
  if (found.enum) return found.enum[0]
  if (type === 'array') return items ? [madeUp(items, schemas)] : []
  if (type === 'object')
    return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, madeUp(one, schemas)]))
  return type === 'string' ? '…' : type === 'boolean' ? true : 1
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
