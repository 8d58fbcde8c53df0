/** What a tool is, and how its arguments are read and its refusals told. */
import type { ImageContent, TextContent, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import type { Caller } from '../core/accounts/account.js'
import { type AppError, invalidParameter } from '../core/errors.js'
import type { Polled } from '../core/generations/follow/poll.js'
import { unknownField } from '../http/shared/error-responses.js'

export interface ToolResult<Data extends object = object> {
  readonly content: (TextContent | ImageContent)[]
  /** A refusal has none. */
  readonly structuredContent?: Data
  readonly isError?: true
}

/** One call of a tool. */
export interface ToolCall {
  readonly caller: Caller
  /** Of the HTTP request. */
  readonly requestId: string
  /** When it began, by performance.now(). */
  readonly begun: number
  /** Notes what the call is about, for the log. */
  concerns(generationId: string): void
  /** For tools that may wait. */
  readonly waiting: WaitingCall | undefined
}

interface WaitingCall {
  /** Names the request among all of the account's, so that a repeat is known. Undefined for clients without a session. */
  readonly requestKey: string | undefined
  /** Aborts when the client cancels the call. */
  readonly canceled: AbortSignal
  /** Aborts when the client has hung up. */
  readonly gone: AbortSignal
  /** Aborts when the key was revoked. */
  readonly revoked: AbortSignal
  /** From now on the call only waits. */
  onlyWaits(): void
  /**
   * Resolves when this answer may read images; call the result once that is done. Undefined: too many others do, so it
   * goes without them.
   * @param patience ms
   */
  admitImages(patience: number): Promise<(() => void) | undefined>
  /** Tells the client how a generation stands. */
  report(now: Polled): void
}

interface ToolDefinition<Input extends z.ZodType, Output extends z.ZodObject> {
  readonly name: string
  readonly title: string
  /** Read by a model, which chooses by it. */
  readonly description: string
  readonly input: Input
  readonly output: Output
  readonly annotations: ToolAnnotations
  /** It may wait for a generation, so its answer is a stream. */
  readonly mayWait?: boolean
  readonly run: (input: z.output<Input>, call: ToolCall) => Promise<ToolResult<z.output<Output>>>
}

export interface Tool extends Pick<ToolDefinition<z.ZodType, z.ZodObject>, 'name' | 'mayWait'> {
  /** As `tools/list` shows it. */
  readonly listed: () => object
  /** @throws invalid_request, naming the first mistake in the arguments; whatever the tool does */
  readonly run: (args: unknown, call: ToolCall) => Promise<ToolResult>
}

export function defineTool<Input extends z.ZodType, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const { name, title, description, input, output, annotations, mayWait = false, run } = definition
  let schema: JsonSchema | undefined
  // Once, not for each call, of which it would be the dearest part.
  const inputSchema = () => {
    schema ??= jsonSchemaOf(input, 'input')
    return schema
  }
  return {
    name,
    mayWait,
    listed: () => ({
      ...{ name, title, description, annotations: { title, ...annotations } },
      inputSchema: inputSchema(),
      outputSchema: jsonSchemaOf(output, 'output'),
    }),
    async run(args, call) {
      const read = input.safeParse(asMeant(args, inputSchema()))
      if (!read.success) throw invalidArguments(read.error, input)
      return run(read.data, call)
    },
  }
}

/**
 * Arguments as models write them: null or an empty text for what they leave out, numbers as text, and any field for a tool that takes
 * none, since some programs cannot call it without one.
 */
function asMeant(
  args: unknown,
  { properties = {}, required = [] }: Pick<JsonSchema, 'properties' | 'required'>,
): unknown {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return args
  const known = Object.keys(properties)
  const isLeftOut = (name: string, value: unknown) => value === null || (value === '' && !required.includes(name))
  const given = Object.entries(args).filter(([name, value]) => known.length > 0 && !isLeftOut(name, value))
  return Object.fromEntries(
    given.map(([name, value]) => {
      const type = Object.hasOwn(properties, name) ? (properties[name] as JsonSchema).type : undefined
      const isNumber = typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value)
      return [name, isNumber && (type === 'integer' || type === 'number') ? Number(value) : value]
    }),
  )
}

type JsonSchema = z.core.JSONSchema.BaseSchema

/**
 * Draft 7 is what all clients read. It goes into a model's context, so it says no more than it must. A field that may be
 * left out need not be null, too: some models' interfaces forbid that.
 */
function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    override: ({ zodSchema, jsonSchema }) => {
      const [it] = jsonSchema.anyOf ?? []
      if (io === 'input' && zodSchema._zod.def.type === 'nullable' && it) {
        delete jsonSchema.anyOf
        Object.assign(jsonSchema, it)
      }
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.format) delete jsonSchema.pattern
    },
  })
  return io === 'input' ? forAnyModel(json) : json
}

/** All that Gemini's function declarations take of JSON Schema: with any other keyword it refuses every tool of a client. */
const TAKEN = [
  ...['type', 'description', 'enum', 'properties', 'required', 'items'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern'],
]

/** What only other keywords say is said in the description, and checked by the tool. */
function forAnyModel(schema: JsonSchema): JsonSchema {
  const { description, multipleOf, default: usual, properties, items } = schema
  const words = [
    description,
    multipleOf && `a multiple of ${multipleOf}`,
    (usual ?? '') !== '' && `${usual} by default`,
  ]
  const said = words.filter(Boolean).join('; ')
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => TAKEN.includes(keyword))),
    ...(said && { description: said }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, it]) => [name, forAnyModel(it as JsonSchema)]),
      ),
    }),
    ...(items && { items: forAnyModel(items as JsonSchema) }),
  }
}

function invalidArguments({ issues }: z.ZodError, schema: z.ZodType): AppError {
  const unknown = issues.find(({ code }) => code === 'unrecognized_keys')
  if (unknown?.code === 'unrecognized_keys') return unknownField(unknown.keys[0] ?? '', schema)
  const [first] = issues
  return invalidParameter(first?.path.join('.') ?? '', first?.message ?? 'The arguments are not valid.')
}

/** A result in words and as data. */
export const shown = <Data extends object>(text: string, structuredContent: Data): ToolResult<Data> => ({
  content: [{ type: 'text', text }],
  structuredContent,
})

/** A refusal is a result that the model reads, not an error of the protocol. */
export const refusal = (sentence: string): ToolResult<never> => ({
  content: [{ type: 'text', text: sentence.replaceAll('GET /api/v1/models', 'list_models') }],
  isError: true,
})

/** Changes nothing, and sees nothing but this service. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const
