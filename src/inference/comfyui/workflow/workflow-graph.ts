import { beginningOf, printable } from '../../../lib/text.js'

export interface WorkflowNode {
  readonly class_type: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly _meta?: { readonly title?: string }
}

/** A workflow in ComfyUI's API format: nodes by id. Ids and input names are anybody's: read them with `nodeAt` and `inputOf`. */
export type WorkflowGraph = Readonly<Record<string, WorkflowNode>>

/** An input of a node. */
export type Slot = readonly [node: string, input: string]

/** For maps and sets of slots. */
export const keyOf = (slot: Slot): string => JSON.stringify(slot)

/** An output of a node. */
export type Wire = readonly [node: string, output: number]

/** Why a workflow is refused: each sentence says what to do, for the person who brings it. */
export class WorkflowProblem extends Error {
  override readonly name = 'WorkflowProblem'
}

// `graph.__proto__` and `inputs.constructor` are there without anybody's having written them.
export const nodeAt = (graph: WorkflowGraph, id: string): WorkflowNode | undefined =>
  Object.hasOwn(graph, id) ? graph[id] : undefined

/** The value at an input; undefined where there is no such node or input. */
export function inputOf(graph: WorkflowGraph, id: string, input: string): unknown {
  const inputs = nodeAt(graph, id)?.inputs
  return inputs && Object.hasOwn(inputs, input) ? inputs[input] : undefined
}

/** The wire that a value is: exactly [id, index], as ComfyUI itself tells a wire from a list. */
export function wireOf(value: unknown): Wire | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined
  const [node, output] = value
  return typeof node === 'string' && Number.isInteger(output) && output >= 0 ? [node, output] : undefined
}

/** What only passes on the one wire that it gets: reroutes, and what shows a value or holds one that comes from elsewhere. */
const PASSES =
  /reroute|^any switch|(show|display|preview).?(text|any)|^primitive(int|float|boolean|string|stringmultiline)$/i

/** The wire at an input, followed through what only passes it on. */
export function wireAt(graph: WorkflowGraph, id: string, input: string): Wire | undefined {
  const wire = wireOf(inputOf(graph, id, input))
  return wire && PASSES.test(nodeAt(graph, wire[0])?.class_type ?? '') ? passedOn(graph, wire) : wire
}

/** Made once for each graph: many nodes may be behind a long row of such nodes. */
const passedByNode = new WeakMap<WorkflowGraph, Map<string, Wire>>()

function passedOn(graph: WorkflowGraph, from: Wire): Wire {
  const known = passedByNode.get(graph) ?? new Map<string, Wire>()
  passedByNode.set(graph, known)
  const passed = new Set<string>()
  let wire = from
  while (PASSES.test(nodeAt(graph, wire[0])?.class_type ?? '') && !passed.has(wire[0])) {
    const [first, second] = wiresOf(graph, wire[0])
    if (!first || second) break
    passed.add(wire[0])
    wire = known.get(wire[0]) ?? first[1]
  }
  for (const id of passed) known.set(id, wire)
  return wire
}

export function wiresOf(graph: WorkflowGraph, id: string): (readonly [input: string, wire: Wire])[] {
  return Object.entries(nodeAt(graph, id)?.inputs ?? {}).flatMap(([input, value]) => {
    const wire = wireOf(value)
    return wire ? [[input, wire] as const] : []
  })
}

/** A node and all that it needs. Ids that are not in the graph are left out. */
export function ancestorsOf(graph: WorkflowGraph, id: string): Set<string> {
  const found = new Set<string>()
  const open = [id]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next) || !nodeAt(graph, next)) continue
    found.add(next)
    for (const [, [node]] of wiresOf(graph, next)) open.push(node)
  }
  return found
}

/** Whether what a node makes comes to that input, or is on it. */
export function feeds(graph: WorkflowGraph, id: string, [node, input]: Slot): boolean {
  const wire = wireOf(inputOf(graph, node, input))
  return id === node || (wire !== undefined && ancestorsOf(graph, wire[0]).has(id))
}

/** Those nodes and all that need them. */
export function descendantsOf(graph: WorkflowGraph, ids: Iterable<string>): Set<string> {
  const users = new Map<string, string[]>()
  for (const id of Object.keys(graph))
    for (const [, [node]] of wiresOf(graph, id)) {
      const those = users.get(node)
      if (those) those.push(id)
      else users.set(node, [id])
    }
  const found = new Set<string>()
  const open = [...ids]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    for (const user of users.get(next) ?? []) open.push(user)
  }
  return found
}

/** The graph without the other nodes. */
export const only = (graph: WorkflowGraph, ids: ReadonlySet<string>): WorkflowGraph =>
  Object.fromEntries(Object.entries(graph).filter(([id]) => ids.has(id)))

/** Made once for each graph: it is asked for many nodes. */
const usersByWire = new WeakMap<WorkflowGraph, Map<string, Slot[]>>()

/** The inputs that get this wire, also through a reroute. */
export function usersOf(graph: WorkflowGraph, wire: Wire): Slot[] {
  let users = usersByWire.get(graph)
  if (!users) {
    users = new Map()
    for (const id of Object.keys(graph))
      for (const [input] of wiresOf(graph, id)) {
        const key = JSON.stringify(wireAt(graph, id, input))
        const those = users.get(key)
        if (those) those.push([id, input])
        else users.set(key, [[id, input]])
      }
    usersByWire.set(graph, users)
  }
  return users.get(JSON.stringify(wire)) ?? []
}

const SHOWN = 60

/** Somebody's text within a sentence of ours: one line, not too long. */
export function shown(text: string): string {
  return beginningOf(printable(text.toWellFormed()).replace(/\s+/g, ' ').trim(), SHOWN)
}

export const titleOf = (graph: WorkflowGraph, id: string): string => {
  const node = nodeAt(graph, id)
  return shown(node?._meta?.title ?? node?.class_type ?? '')
}

/** `"title" (class, node id)`, as the sentences call a node. */
export const named = (graph: WorkflowGraph, id: string): string =>
  `"${titleOf(graph, id)}" (${shown(nodeAt(graph, id)?.class_type ?? '')}, node ${shown(id)})`

/** Several of them, the first few by name. */
export function namedAll(graph: WorkflowGraph, ids: readonly string[]): string {
  const [last, ...others] = ids
    .slice(0, 4)
    .map((id) => named(graph, id))
    .reverse()
  if (ids.length > 4) return `${[last, ...others].reverse().join(', ')} and ${ids.length - 4} more`
  return others.length === 0 ? `${last}` : `${others.reverse().join(', ')} and ${last}`
}
