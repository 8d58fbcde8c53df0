/** Prepares every statement of `src/db/`, and compares the columns that Postgres would send with the row type in the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import pg from 'pg'
import ts from 'typescript'
import { beforeAll, expect, it } from 'vitest'
import { preparedTexts } from '../../src/db/statement.js'
import { useDatabase } from '../support/database.js'

const context = useDatabase()
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DB = join(ROOT, 'src/db')
const files = readdirSync(DB, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(DB, file))
  .filter((file) => /\b(statement|eachOf|liveFirst|failureRule|failStatement)[<(]/.test(readFileSync(file, 'utf8')))

interface Field {
  readonly name: string
  readonly dataTypeID: number
  /** Of the column that it is read from; 0: of an expression. */
  readonly tableID: number
  readonly columnID: number
}

/** Parses and describes a text without running it: the protocol's Parse, Describe and Sync. */
class Description {
  readonly done: Promise<readonly Field[]>
  #resolve: (fields: readonly Field[]) => void = () => {}
  #reject: (error: Error) => void = () => {}
  #fields: readonly Field[] = []

  readonly #text: string

  constructor(text: string) {
    this.#text = text
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  submit(connection: pg.Connection): void {
    const wire = connection as unknown as Record<'parse' | 'describe', (message: object) => void> & { sync(): void }
    wire.parse({ name: '', text: this.#text, types: [] })
    wire.describe({ type: 'S', name: '' })
    wire.sync()
  }
  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    this.#fields = fields
  }
  handleError(error: Error): void {
    this.#reject(error)
  }
  handleReadyForQuery(): void {
    this.#resolve(this.#fields)
  }
}

/** How JavaScript gets a value of these types, with the parsers of `src/db/client.ts`. */
const KINDS: Readonly<Record<number, string>> = {
  16: 'boolean',
  17: 'object', // bytea
  20: 'number', // bigint
  21: 'number',
  23: 'number',
  25: 'string',
  114: 'any', // json
  700: 'number',
  701: 'number',
  1043: 'string',
  1082: 'object', // date
  1114: 'object',
  1184: 'object', // timestamptz
  1700: 'string', // numeric
  2950: 'string', // uuid
  3802: 'any', // jsonb
  1009: 'object', // text[]
  1007: 'object', // integer[]
  1016: 'object', // bigint[]
  2951: 'object', // uuid[]
}

/** Can be null in the table, and is not in these rows. */
const NEVER_NULL: readonly (readonly [statement: RegExp, column: string, why: string])[] = [
  [/^(cancel|fail|oversee_fail)/, 'reason', 'the statement sets it, or a check says that failed rows have it'],
  [/^oversee_failed$/, 'finishedAt', 'a check says that failed rows have it'],
  [/^oversee_running$/, 'startedAt', 'the claim sets it together with the status'],
  [/^remove_image$/, 'at', 'the statement sets it'],
  [/^rotate_secret_of_webhook_urls$/, 'until', 'the statement sets it'],
]

/** What pg_notify returns. */
const VOID = 2278

interface Believed {
  readonly kinds: ReadonlySet<string>
  readonly isNullable: boolean
}

/** By the statement's name: the columns of its row; null: it has none, or nobody reads them. */
const believed = new Map<string, ReadonlyMap<string, Believed> | null>()

/** The row type behind `Statement<Row>`, or behind what `eachOf` returns. */
function readTypes(): void {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
  }
  const program = ts.createProgram(files, options)
  const checker = program.getTypeChecker()

  const rowOf = (type: ts.Type): ts.Type | undefined => {
    const first = type.getProperty('first')
    const read = first ? checker.getTypeOfSymbol(first) : type
    const [signature] = read.getCallSignatures()
    const promised = signature && checker.getAwaitedType(signature.getReturnType())
    if (!promised) return undefined
    // The function that eachOf returns resolves to an array of rows.
    const row = checker.getIndexTypeOfType(promised, ts.IndexKind.Number) ?? promised
    return row.flags & ts.TypeFlags.Unknown ? row : checker.getNonNullableType(row)
  }

  const note = (name: string, row: ts.Type | undefined) => {
    if (!row || row.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return void believed.set(name, null)
    const alternatives = row.isUnion() ? row.types : [row]
    const columns = new Map<string, Believed>()
    for (const alternative of alternatives) {
      for (const property of checker.getPropertiesOfType(alternative)) {
        const type = checker.getTypeOfSymbol(property)
        const parts = type.isUnion() ? type.types : [type]
        const before = columns.get(property.name)
        const kinds = new Set(before?.kinds)
        let isNullable = before?.isNullable ?? false
        if (property.flags & ts.SymbolFlags.Optional) isNullable = true
        for (const part of parts) {
          if (part.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) isNullable = true
          else kinds.add(kindOf(part))
        }
        columns.set(property.name, { kinds, isNullable })
      }
    }
    believed.set(name, columns)
  }

  const visit = (node: ts.Node): void => {
    const call = ts.isTaggedTemplateExpression(node) ? node.tag : node
    const [argument] = ts.isCallExpression(call) ? call.arguments : []
    for (const name of argument ? namesOf(argument) : []) {
      const type = checker.getTypeAtLocation(node)
      if (type.getProperty('first')) note(name, rowOf(type))
      else if (isCallOf(node, 'eachOf')) note(name, rowOf(type))
      // Two statements for the same rows.
      else if (isCallOf(node, 'liveFirst')) for (const it of [name, `${name}_of_all`]) note(it, rowOf(type))
      else if (isCallOf(node, 'failureRule') && preparedTexts.has(`${name}_ids`))
        for (const [key, suffix] of Object.entries({ page: '', one: '_one', ids: '_ids' }))
          note(`${name}${suffix}`, rowOf(checker.getTypeOfSymbol(type.getProperty(key) as ts.Symbol)))
    }
    ts.forEachChild(node, visit)
  }
  for (const file of files) visit(program.getSourceFile(file) as ts.SourceFile)
}

const isCallOf = (node: ts.Node, name: string) =>
  ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === name

/** The names of statements that an argument stands for: itself, or what a template makes. */
function namesOf(argument: ts.Expression): string[] {
  if (ts.isStringLiteralLike(argument)) return [argument.text]
  if (!ts.isTemplateExpression(argument)) return []
  const tails = argument.templateSpans.map(({ literal }) => literal.text)
  const pattern = new RegExp(`^${[argument.head.text, ...tails].join('[a-z_]+')}$`)
  return [...preparedTexts.keys()].filter((name) => pattern.test(name))
}

function kindOf(type: ts.Type): string {
  if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter)) return 'any'
  if (type.flags & ts.TypeFlags.StringLike) return 'string'
  if (type.flags & ts.TypeFlags.NumberLike) return 'number'
  if (type.flags & ts.TypeFlags.BooleanLike) return 'boolean'
  return 'object'
}

let client: pg.Client
const nullable = new Set<string>()

beforeAll(async () => {
  for (const file of files) await import(pathToFileURL(file).href)
  readTypes()
  client = new pg.Client(context.url)
  await client.connect()
  const { rows } = await client.query(
    `SELECT attrelid || '.' || attnum AS column FROM pg_attribute WHERE attnum > 0 AND NOT attnotnull AND NOT attisdropped`,
  )
  for (const { column } of rows) nullable.add(column)
  return () => client.end()
})

it('each statement’s row type is found in the code', () => {
  expect(preparedTexts.size).toBeGreaterThan(110)
  expect([...preparedTexts.keys()].filter((name) => !believed.has(name))).toEqual([])
})

it('each statement can be prepared, and its columns are those of its row type: names, types, and null where the table says', async () => {
  const wrong: string[] = []
  for (const [name, text] of preparedTexts) {
    const description = new Description(text)
    client.query(description as unknown as pg.Submittable)
    const fields = await description.done.catch((error: Error) => void wrong.push(`${name}: ${error.message}`))
    const columns = believed.get(name)
    if (!fields || !columns) continue
    const byName = new Map(fields.map((field) => [field.name, field]))
    for (const field of fields) if (field.dataTypeID === VOID) byName.delete(field.name)
    // eachOf takes it away.
    if (!columns.has('place')) byName.delete('place')
    for (const [column, field] of byName) {
      const type = columns.get(column)
      const kind = KINDS[field.dataTypeID] ?? `of an unknown type, oid ${field.dataTypeID}`
      const others = [...(type?.kinds ?? [])].filter((it) => it !== kind && it !== 'any')
      const isNull = nullable.has(`${field.tableID}.${field.columnID}`)
      const isExcepted = NEVER_NULL.some(([statement, of]) => of === column && statement.test(name))
      if (!type) wrong.push(`${name}: ${column} is not in the type`)
      else if (others.length > 0 && kind !== 'any')
        wrong.push(`${name}: ${column} is ${kind}, not ${others.join(', ')}`)
      else if (isNull && !type.isNullable && !isExcepted) wrong.push(`${name}: ${column} can be null`)
    }
    for (const [column, { isNullable }] of columns)
      if (!isNullable && !byName.has(column)) wrong.push(`${name}: ${column} is not selected`)
  }
  expect(wrong).toEqual([])
})
