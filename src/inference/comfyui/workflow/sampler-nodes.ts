import { titled } from './node-titles.js'
import {
  ancestorsOf,
  inputOf,
  named,
  namedAll,
  nodeAt,
  type Slot,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wiresOf,
} from './workflow-graph.js'

const hasInput = (graph: WorkflowGraph, id: string, ...names: readonly string[]) =>
  names.some((name) => inputOf(graph, id, name) !== undefined)

const hasWire = (graph: WorkflowGraph, id: string, ...names: readonly string[]) =>
  names.some((name) => wireAt(graph, id, name) !== undefined)

/** By its inputs, not by its class: so samplers of node packs and detailers count, too. */
export function isSampler(graph: WorkflowGraph, id: string): boolean {
  if (hasWire(graph, id, 'guider') && hasWire(graph, id, 'sigmas') && hasWire(graph, id, 'noise')) return true
  return (
    hasInput(graph, id, 'seed', 'noise_seed') &&
    hasInput(graph, id, 'positive', 'steps', 'sigmas') &&
    hasWire(graph, id, 'model', 'latent', 'latent_image', 'samples', 'pipe', 'basic_pipe', 'sdxl_tuple')
  )
}

// Each costs a walk over the whole graph.
const MAX_SAMPLERS = 50

/** All samplers, and the first: the one that draws from nothing. `output` makes the image. @throws WorkflowProblem */
export function samplersIn(kept: WorkflowGraph, output: string): { main: string; samplers: string[] } {
  const samplers = Object.keys(kept).filter((id) => isSampler(kept, id))
  if (samplers.length === 0)
    throw new WorkflowProblem(
      `The image of the workflow comes from ${named(kept, output)}, and no sampler is before it: save an image that a sampler such as KSampler draws, and export the workflow again.`,
    )
  if (samplers.length > MAX_SAMPLERS)
    throw new WorkflowProblem(
      `The workflow has ${samplers.length} samplers, and at most ${MAX_SAMPLERS} are taken: remove some and export it again.`,
    )
  const chosen = titled(kept, 'sampler').filter((id) => samplers.includes(id))
  const first = samplers.filter((id) => {
    const ancestors = ancestorsOf(kept, id)
    return !samplers.some((other) => other !== id && ancestors.has(other))
  })
  const [main, another] = chosen.length > 0 ? chosen : first
  if (main === undefined || another !== undefined)
    throw new WorkflowProblem(
      `The workflow begins with several samplers: give one of ${namedAll(kept, chosen.length > 0 ? chosen : first)} the title "sampler" in ComfyUI, and only that one, and export it again.`,
    )
  return { main, samplers }
}

/** What carries no setting and no text: a search for one must not end at another sampler, or at a loader. */
export const OTHER_WIRES =
  /^(model|clip|vae|latent|latent_image|latents|samples|image|images|pixels|mask|positive|negative|conditioning|cond\d*|control_net)$/

/** The nearest nodes with that input, from a wire of a sampler on. */
export function settingsBehind(kept: WorkflowGraph, id: string, from: string, input: string): Slot[] {
  const start = wireAt(kept, id, from)
  const open = start ? [start[0]] : []
  const seen = new Set<string>()
  const found: Slot[] = []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next) || !nodeAt(kept, next)) continue
    seen.add(next)
    if (inputOf(kept, next, input) !== undefined) found.push([next, input])
    else for (const [name, [node]] of wiresOf(kept, next)) if (!OTHER_WIRES.test(name)) open.push(node)
  }
  return found
}

/** Where a sampler's setting is: at the sampler itself, or behind one of its wires. */
export function settingOf(kept: WorkflowGraph, id: string, inputs: readonly string[], from: string): Slot | undefined {
  const own = inputs.find((input) => inputOf(kept, id, input) !== undefined)
  if (own !== undefined) return [id, own]
  const found = inputs.flatMap((input) => settingsBehind(kept, id, from, input))
  if (found.length > 1)
    throw new WorkflowProblem(
      `${named(kept, id)} takes its ${inputs[0]} from several nodes: use one instead of ${namedAll(kept, [...new Set(found.map(([node]) => node))])}, and export the workflow again.`,
    )
  return found[0]
}
