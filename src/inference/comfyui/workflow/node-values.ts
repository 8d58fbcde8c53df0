import { evaluate } from './arithmetic.js'
import { type Role, titled } from './node-titles.js'
import {
  inputOf,
  named,
  nodeAt,
  type Slot,
  usersOf,
  type Wire,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wiresOf,
} from './workflow-graph.js'

/** Where a value is written, and the file's own, if it is known; `computedBy` is the node whose result is overwritten. */
export interface Settled {
  readonly slots: readonly Slot[]
  readonly value: unknown
  readonly computedBy?: string
}

const VALUE_NAMES = ['value', 'seed', 'noise_seed', 'int', 'number']

/** Other programs fill these in; where we write ourselves they do no harm. */
const PLACEHOLDER = /^%[^%\s]+%$|^__\w+__$|^PARAM_\w+$|\$\{[^{}]*\}|^\{\{.*\}\}$|^\{[A-Za-z]\w*\}$|^<[A-Z][A-Z0-9_]*>$/

export const isPlaceholder = (value: unknown): boolean => typeof value === 'string' && PLACEHOLDER.test(value.trim())

/** A number, also written as text, which the server casts. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'string' && value.trim() === '') return undefined
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Inputs that no one number may feed together: changing one would silently change the other. */
const FAMILIES = [/width/, /height/, /seed/, /steps/, /cfg/, /denoise|strength|guidance|shift|weight/, /batch|amount/]

const inFamily = (input: string, family: RegExp) => family.test(input.toLowerCase())

/**
 * A literal is written where it is. A wire from a node that only holds a value: there, since others may use it. Any
 * other wire is computed: its result is overwritten where it is used. Nothing is followed further, because the inputs
 * of a computation are something else (a width ended in `GetImageSize.image`).
 */
export function settle(graph: WorkflowGraph, [id, input]: Slot, kind: 'number' | 'text' = 'number'): Settled {
  const wire = wireAt(graph, id, input)
  if (!wire) return { slots: [[id, input]], value: inputOf(graph, id, input) }
  const users = usersOf(graph, wire)
  const family = FAMILIES.find((it) => inFamily(input, it))
  const isOurs = ([, name]: Slot) => !family || inFamily(name, family)
  const own = users.filter(([node, name]) => (node === id && name === input) || (family && inFamily(name, family)))
  const shared = users.some((slot) => !isOurs(slot) && FAMILIES.some((it) => inFamily(slot[1], it)))
  const held = valueInput(graph, wire[0])
  const isKind = held !== undefined && isOf(kind, inputOf(graph, wire[0], held))
  if (!isKind) return { slots: own, value: kind === 'number' ? computed(graph, wire) : undefined, computedBy: wire[0] }
  const value = inputOf(graph, wire[0], held)
  return shared ? { slots: own, value } : { slots: [[wire[0], held]], value }
}

const isOf = (kind: 'number' | 'text', value: unknown) =>
  isPlaceholder(value) || (kind === 'number' ? numberOf(value) !== undefined : typeof value === 'string')

/** The number at an input, at the node that holds it, or what it comes to there; undefined if the file does not say it. */
export function numberAt(graph: WorkflowGraph, id: string, input: string, depth = 0): number | undefined {
  const wire = wireAt(graph, id, input)
  if (!wire) return numberOf(inputOf(graph, id, input))
  const held = valueInput(graph, wire[0])
  return (held !== undefined ? numberOf(inputOf(graph, wire[0], held)) : undefined) ?? computed(graph, wire, depth)
}

/** Far more than anybody computes a size with. */
const MAX_DEPTH = 20

/** Made once for each graph: many nodes may ask for one, and each node for many. */
const computedByWire = new WeakMap<WorkflowGraph, Map<string, number | undefined>>()

/** What ComfyUI's selector of sizes and plain arithmetic come to. */
function computed(graph: WorkflowGraph, wire: Wire, depth = 0): number | undefined {
  const known = computedByWire.get(graph) ?? new Map<string, number | undefined>()
  computedByWire.set(graph, known)
  const key = JSON.stringify(wire)
  if (known.has(key) || depth > MAX_DEPTH) return known.get(key)
  // For a node that needs its own result.
  known.set(key, undefined)
  const value = resultOf(graph, wire, (input) => numberAt(graph, wire[0], input, depth + 1))
  known.set(key, value)
  return value
}

function resultOf(graph: WorkflowGraph, [id, output]: Wire, at: (input: string) => number | undefined) {
  const name = nodeAt(graph, id)?.class_type ?? ''
  if (name === 'ResolutionSelector')
    return selectedSide(inputOf(graph, id, 'aspect_ratio'), at('megapixels'), at('multiple'), output)
  const expression = inputOf(graph, id, name === 'SimpleMath+' ? 'value' : 'expression')
  if (!MATHS.test(name) || typeof expression !== 'string') return undefined
  const value = evaluate(expression, (variable) => at(`values.${variable}`) ?? at(variable))
  // These nodes round others in different ways.
  return Number.isInteger(value) ? value : undefined
}

const MATHS = /^(ComfyMathExpression|SimpleMath\+|MathExpression\|pysssss)$/

function selectedSide(ratio: unknown, megapixels: number | undefined, multiple: number | undefined, output: number) {
  const [, width, height] = /^(\d+):(\d+)/.exec(String(ratio)) ?? []
  if (!width || !height || !megapixels || !multiple) return undefined
  const unit = Math.sqrt((megapixels * 1024 * 1024) / (Number(width) * Number(height)))
  const side = Math.round((Number(output === 0 ? width : height) * unit) / multiple) * multiple
  return side || undefined
}

/** The input of a node that does nothing but hold a value. */
export function valueInput(graph: WorkflowGraph, id: string): string | undefined {
  const literals = Object.entries(nodeAt(graph, id)?.inputs ?? {}).filter(([name]) => name !== 'control_after_generate')
  if (wiresOf(graph, id).length > 0) return undefined
  if (literals.length === 1) return literals[0]?.[0]
  const values = literals.filter(([name]) => VALUE_NAMES.includes(name))
  return values.length === 1 ? values[0]?.[0] : undefined
}

/**
 * Where the number is that a person has pointed out by a title: at the input of one of these names, or the only number there.
 * @param what it is, for the sentence
 * @throws WorkflowProblem
 */
export function titledNumber(graph: WorkflowGraph, role: Role, names: readonly string[], what: string): Slot[] {
  return titled(graph, role).map((id) => {
    const inputs = Object.entries(nodeAt(graph, id)?.inputs ?? {})
    const known = inputs.filter(([name]) => [...names, 'value', 'int', 'number'].includes(name))
    const found = known.length > 0 ? known : inputs.filter(([, value]) => typeof value === 'number')
    if (found.length !== 1)
      throw new WorkflowProblem(
        `${named(graph, id)} has the title "${role}", but not one ${what}: give that title to the node that holds it, and export the workflow again.`,
      )
    return [id, found[0]?.[0] as string]
  })
}
