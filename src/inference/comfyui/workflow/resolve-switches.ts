import { valueInput } from './node-values.js'
import { inputOf, nodeAt, type WorkflowGraph, wireAt, wireOf } from './workflow-graph.js'

/**
 * The graph in which what a switch chooses stands in its place, where the file itself says which side that is: what it
 * does not choose is no part of the image, and neither are its files. `setBy`: the nodes that say so, by the node that
 * got its input from the switch.
 */
export function resolveSwitches(graph: WorkflowGraph): { graph: WorkflowGraph; setBy: Map<string, Set<string>> } {
  const setBy = new Map<string, Set<string>>()
  const chosen = (user: string, value: unknown): unknown => {
    const passed = new Set<string>()
    let it = value
    for (let choice = choiceOf(graph, it); choice && !passed.has(choice.id); choice = choiceOf(graph, it)) {
      passed.add(choice.id)
      setBy.set(user, (setBy.get(user) ?? new Set()).add(choice.setBy))
      it = choice.value
    }
    return it
  }
  const nodes = Object.entries(graph).map(([id, node]) => {
    const inputs = Object.entries(node.inputs).map(([input, value]) => [input, chosen(id, value)])
    return [id, setBy.has(id) ? { ...node, inputs: Object.fromEntries(inputs) } : node]
  })
  return { graph: Object.fromEntries(nodes), setBy }
}

/** The side that a switch at the other end of a wire chooses. A switch is known by its inputs: two sides and a truth value. */
function choiceOf(graph: WorkflowGraph, value: unknown): { id: string; setBy: string; value: unknown } | undefined {
  const [id] = wireOf(value) ?? []
  if (id === undefined) return undefined
  const { on_true: _, on_false: __, ...others } = nodeAt(graph, id)?.inputs ?? {}
  const [condition, another] = Object.keys(others)
  if (condition === undefined || another !== undefined) return undefined
  const wire = wireAt(graph, id, condition)
  const held = wire && valueInput(graph, wire[0])
  const holder = wire && held !== undefined ? ([wire[0], held] as const) : ([id, condition] as const)
  const isOn = inputOf(graph, ...holder)
  if (typeof isOn !== 'boolean') return undefined
  const side = inputOf(graph, id, isOn ? 'on_true' : 'on_false')
  return side === undefined ? undefined : { id, setBy: holder[0], value: side }
}
