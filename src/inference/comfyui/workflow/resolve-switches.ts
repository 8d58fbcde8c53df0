import { valueInput } from './node-values.js'
import { inputOf, nodeAt, type WorkflowGraph, wireAt, wireOf, wiresOf } from './workflow-graph.js'

/** What a switch passes on, and the node that says so. */
interface Choice {
  readonly value: unknown
  readonly setBy: string
}

/**
 * The graph in which what a switch chooses stands in its place, where the file itself says which side that is: what it
 * does not choose is no part of the image, and neither are its files. `settersOf`: the nodes that say so, of all that a
 * node needs.
 */
export function resolveSwitches(file: WorkflowGraph) {
  const choices = new Map(
    Object.keys(file).flatMap((id) => {
      const choice = choiceOf(file, id)
      return choice ? [[id, choice] as const] : []
    }),
  )
  const ends = new Map<string, unknown>()
  /** What is at the end of the switches that follow each other from that one on. */
  const endOf = (id: string, value: unknown): unknown => {
    const passed = new Set<string>()
    let end: unknown = value
    for (let next: string | undefined = id; next !== undefined; next = firstOutputOf(end)) {
      const choice = choices.get(next)
      if (!choice || passed.has(next)) break
      passed.add(next)
      end = ends.has(next) ? ends.get(next) : choice.value
    }
    for (const it of passed) ends.set(it, end)
    return end
  }
  const chosen = (value: unknown) => {
    const id = firstOutputOf(value)
    return id === undefined || !choices.has(id) ? value : endOf(id, value)
  }
  const nodes = Object.entries(file).map(([id, node]) => {
    const inputs = Object.entries(node.inputs).map(([input, value]) => [input, chosen(value)])
    return [id, { ...node, inputs: Object.fromEntries(inputs) }]
  })
  const graph: WorkflowGraph = choices.size === 0 ? file : Object.fromEntries(nodes)
  return { graph, settersOf: (id: string) => settersOf(file, choices, id) }
}

/** The node whose first output that is: what a switch has chosen. Its others tell of the choice. */
const firstOutputOf = (value: unknown): string | undefined => {
  const [id, output] = wireOf(value) ?? []
  return output === 0 ? id : undefined
}

/** A switch is known by its inputs: two sides and a truth value, or numbered inputs and one of their numbers. */
function choiceOf(file: WorkflowGraph, id: string): Choice | undefined {
  const { on_true: _, on_false: __, sel_mode: ___, ...others } = nodeAt(file, id)?.inputs ?? {}
  const [condition, another] = Object.keys(others).filter((input) => !/^(input|value)\d+$/.test(input))
  if (condition === undefined || another !== undefined) return undefined
  const wire = wireAt(file, id, condition)
  const held = wire && valueInput(file, wire[0])
  const holder = wire && held !== undefined ? ([wire[0], held] as const) : ([id, condition] as const)
  const chosen = inputOf(file, ...holder)
  const numbered = condition === 'index' ? `value${chosen}` : `input${chosen}`
  const input = typeof chosen === 'boolean' ? (chosen ? 'on_true' : 'on_false') : numbered
  const value = inputOf(file, id, input)
  return value === undefined ? undefined : { value, setBy: holder[0] }
}

function settersOf(file: WorkflowGraph, choices: ReadonlyMap<string, Choice>, id: string): string[] {
  const open = [id]
  const seen = new Set<string>()
  const setters = new Set<string>()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    const choice = choices.get(next)
    if (!choice) open.push(...wiresOf(file, next).map(([, [node]]) => node))
    else {
      setters.add(choice.setBy)
      open.push(...((wireOf(choice.value)?.slice(0, 1) as string[] | undefined) ?? []))
    }
  }
  return [...setters]
}
