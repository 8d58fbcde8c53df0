import { z } from 'zod'
import { withTimeLimit } from '../../lib/abort-signals.js'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'
import { readJson } from './prompt-history.js'
import { FILE } from './workflow/nested-files.js'

const names = z.array(z.string())

/** A list to choose from: the list itself, or in newer versions `["COMBO", { options: list }]`. */
export const choices = z.union([
  z.tuple([names], z.unknown()).transform(([list]) => list),
  z.tuple([z.string(), z.object({ options: names })], z.unknown()).transform(([, { options }]) => options),
])

const inputs = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((it) => it ?? {})
const inputsOfClass = z.object({ required: inputs, optional: inputs })
const nodeClass = z.object({ input: inputsOfClass })

/** An input that a node has as many of as are connected, and needs `min` of. */
const growing = z.tuple([z.literal('COMFY_AUTOGROW_V3'), z.object({ template: z.object({ min: z.number() }) })])
/** A choice on which further inputs depend. */
const branching = z.tuple([
  z.literal('COMFY_DYNAMICCOMBO_V3'),
  z.object({ options: z.array(z.object({ key: z.string(), inputs: inputsOfClass.partial() })) }),
])

const number = z.tuple(
  [z.enum(['INT', 'FLOAT']), z.object({ min: z.number().nullish(), max: z.number().nullish() })],
  z.unknown(),
)

/** The numbers that an input takes, both ends among them. */
export interface Range {
  readonly min: number
  readonly max: number
}

/** What a server says of a class of nodes. */
export interface NodeClass {
  /** The names of the inputs that a node must have. */
  readonly required: readonly string[]
  /** By the name of an input that has a list to choose from: the server's own spellings, by those with slashes. */
  readonly choices: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** By the name of an input that is a choice: what each choice needs, whose names begin with its own and a dot. */
  readonly branches: ReadonlyMap<string, ReadonlyMap<string, NodeClass>>
  /** By the name of an input that must be there: what ComfyUI's editor writes there at first. */
  readonly defaults: ReadonlyMap<string, unknown>
  /** By the name of an input that takes numbers; an end that the server does not say is infinite. */
  readonly ranges: ReadonlyMap<string, Range>
}

/** A path with slashes: Windows has others. */
export const slashed = (path: string): string => path.replaceAll('\\', '/')

/** @param before the names of all its inputs */
function classOf(required: Readonly<Record<string, unknown>>, optional: object, before = ''): NodeClass {
  const specs = Object.entries({ ...optional, ...required }).map(
    ([input, spec]) => [`${before}${input}`, spec] as const,
  )
  const branches = specs.flatMap(([input, spec]) => {
    const options = branching.safeParse(spec).data?.[1].options
    const branchOf = (of: z.output<typeof branching>[1]['options'][number]['inputs']) =>
      classOf(of.required ?? {}, of.optional ?? {}, `${input}.`)
    return options ? [[input, new Map(options.map((it) => [it.key, branchOf(it.inputs)]))] as const] : []
  })
  const lists = specs.flatMap(([input, spec]) => {
    const listed = choices.safeParse(spec).data
    return listed ? [[input, new Map(listed.map((choice) => [slashed(choice), choice]))] as const] : []
  })
  const ranges = specs.flatMap(([input, spec]) => {
    const [, limits] = number.safeParse(spec).data ?? []
    const { min, max } = limits ?? {}
    return limits ? [[input, { min: min ?? -Infinity, max: max ?? Infinity }] as const] : []
  })
  const defaults = Object.entries(required).flatMap(([input, spec]) => {
    const value = defaultOf(spec)
    return value === undefined ? [] : [[`${before}${input}`, value] as const]
  })
  const keys = branches.map(
    ([input, options]) => [input, new Map([...options.keys()].map((key) => [slashed(key), key]))] as const,
  )
  return {
    required: Object.entries(required).flatMap(([input, spec]) => (isNeeded(spec) ? [`${before}${input}`] : [])),
    choices: new Map([...lists, ...keys]),
    branches: new Map(branches),
    defaults: new Map(defaults),
    ranges: new Map(ranges),
  }
}

const withDefault = z.tuple([z.unknown(), z.object({ default: z.union([z.string(), z.number(), z.boolean()]) })])

/** The one that is said, or the first of a list that is none of files. */
function defaultOf(spec: unknown): unknown {
  const said = withDefault.safeParse(spec).data?.[1].default
  const listed = choices.safeParse(spec).data
  if (said !== undefined) return listed && !listed.includes(`${said}`) ? undefined : said
  return listed?.some((it) => FILE.test(it)) ? undefined : listed?.[0]
}

/** What may grow from none is not needed. */
const isNeeded = (spec: unknown): boolean => growing.safeParse(spec).data?.[1].template.min !== 0

// Read once, when the server has answered: lists have thousands of files, and workflows are compared every few seconds.
export const describedClass = nodeClass.transform(({ input: { required, optional } }) => classOf(required, optional))

const classesByName = z.record(z.string(), z.unknown())

/** A class is asked for anew after this time: files may have come, and a restart may have brought other nodes. */
const FRESH_MS = 30_000
/** All of one look: a server that draws answers late, and the rest is asked for by the next look. */
const WITHIN_MS = 1_500
const AT_ONCE = 4

/**
 * The classes of nodes that a server has. The list of all is megabytes, so each is asked for by its name, and
 * remembered.
 */
export function nodeClasses(http: ServerHttp) {
  const known = new Map<string, { readonly is: NodeClass | undefined; readonly askedAt: number }>()

  const ask = async (name: string, signal: AbortSignal) => {
    const reply = await http.get(`/object_info/${encodeURIComponent(name)}`, signal)
    const found = readJson(http.name, reply, classesByName)
    const is = Object.hasOwn(found, name) ? describedClass.parse(found[name]) : await replaced(name, signal)
    known.set(name, { is, askedAt: performance.now() })
  }

  /** Newer servers put another class in the place of one that they no longer have: it takes what is there. */
  const replaced = async (name: string, signal: AbortSignal): Promise<NodeClass | undefined> => {
    const { status, text } = await http.get('/node_replacements', signal)
    const others = (status === 200 ? parsedJson(text, classesByName) : undefined) ?? {}
    return Object.hasOwn(others, name) ? classOf({}, {}) : undefined
  }

  return {
    /** Something has failed: what was known may be wrong. */
    forget: () => known.clear(),
    /** The next look asks for them again: somebody may be about to bring what is missing. */
    askAgain(names: Iterable<string>): void {
      for (const name of names) {
        const found = known.get(name)
        if (found) known.set(name, { ...found, askedAt: Number.NEGATIVE_INFINITY })
      }
    },
    /** Of those names: null for a class that the server does not have, undefined where it has not answered in time. */
    async look(
      wanted: Iterable<string>,
      signal: AbortSignal,
      withinMs = WITHIN_MS,
    ): Promise<(name: string) => NodeClass | null | undefined> {
      const isOld = (name: string) =>
        performance.now() - (known.get(name)?.askedAt ?? Number.NEGATIVE_INFINITY) > FRESH_MS
      const open = [...new Set(wanted)].filter(isOld)
      const askAll = (limited: AbortSignal) => {
        const next = async (): Promise<void> => {
          const name = open.pop()
          if (name === undefined) return
          // One that fails is asked for again by the next look.
          await ask(name, limited).catch(() => undefined)
          return next()
        }
        return Promise.all(Array.from({ length: AT_ONCE }, next))
      }
      if (open.length > 0) await withTimeLimit(signal, withinMs, askAll).catch(() => undefined)
      signal.throwIfAborted()
      return (name) => {
        const found = known.get(name)
        return found && (found.is ?? null)
      }
    },
  }
}
