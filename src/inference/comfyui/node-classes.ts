import { z } from 'zod'
import { withTimeLimit } from '../../lib/abort-signals.js'
import type { ServerHttp } from '../server-http.js'
import { readJson } from './prompt-history.js'

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
const nodeClass = z.object({ input: z.object({ required: inputs, optional: inputs }) })

/** What a server says of a class of nodes. */
export interface NodeClass {
  /** The names of the inputs that a node must have. */
  readonly required: readonly string[]
  /** By the name of an input that has a list to choose from: the server's own spellings, by those with slashes. */
  readonly choices: ReadonlyMap<string, ReadonlyMap<string, string>>
}

/** A path with slashes: Windows has others. */
export const slashed = (path: string): string => path.replaceAll('\\', '/')

// Read once, when the server has answered: lists have thousands of files, and workflows are compared every few seconds.
export const describedClass = nodeClass.transform(({ input: { required, optional } }): NodeClass => {
  const lists = Object.entries({ ...optional, ...required }).flatMap(([input, spec]) => {
    const listed = choices.safeParse(spec).data
    return listed ? [[input, new Map(listed.map((choice) => [slashed(choice), choice]))] as const] : []
  })
  return { required: Object.keys(required), choices: new Map(lists) }
})

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
    const found = readJson(http.name, reply, z.record(z.string(), z.unknown()))
    const is = Object.hasOwn(found, name) ? describedClass.parse(found[name]) : undefined
    known.set(name, { is, askedAt: performance.now() })
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
