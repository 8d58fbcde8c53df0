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
export type NodeClass = z.output<typeof nodeClass>['input']

/** The choices of an input that has some; undefined for others. */
export const choicesOf = ({ required, optional }: NodeClass, input: string): readonly string[] | undefined => {
  const spec = Object.hasOwn(required, input)
    ? required[input]
    : Object.hasOwn(optional, input)
      ? optional[input]
      : undefined
  return choices.safeParse(spec).data
}

/** A class is asked for anew after this time: files may have come, and a restart may have brought other nodes. */
const FRESH_MS = 30_000
/** All of one look: a server that draws answers late, and the rest is asked for by the next look. */
const WITHIN_MS = 1_500
const AT_ONCE = 8

/**
 * The classes of nodes that a server has. The list of all is megabytes, so each is asked for by its name, and
 * remembered.
 */
export function nodeClasses(http: ServerHttp) {
  const known = new Map<string, { readonly is: NodeClass | undefined; readonly askedAt: number }>()

  const ask = async (name: string, signal: AbortSignal) => {
    const reply = await http.get(`/object_info/${encodeURIComponent(name)}`, signal)
    const found = readJson(http.name, reply, z.record(z.string(), z.unknown()))
    const is = Object.hasOwn(found, name) ? nodeClass.parse(found[name]).input : undefined
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
