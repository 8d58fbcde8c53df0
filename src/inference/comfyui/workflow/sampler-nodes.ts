import { contradicted, titled } from './node-titles.js'
import { titledNumber } from './node-values.js'
import {
  ancestorsOf,
  feeds,
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
export function samplersIn(kept: WorkflowGraph, output: string): { main: string; samplers: string[]; notes: string[] } {
  const samplers = Object.keys(kept).filter((id) => isSampler(kept, id))
  if (samplers.length === 0)
    throw new WorkflowProblem(
      `The image of the workflow comes from ${named(kept, output)}, and no sampler is before it: save an image that a sampler such as KSampler draws, and export the workflow again.`,
    )
  if (samplers.length > MAX_SAMPLERS)
    throw new WorkflowProblem(
      `The workflow has ${samplers.length} samplers, and at most ${MAX_SAMPLERS} are taken: remove some and export it again.`,
    )
  const first = samplers.filter((id) => {
    const ancestors = ancestorsOf(kept, id)
    return !samplers.some((other) => other !== id && ancestors.has(other))
  })
  const asked = titled(kept, 'sampler')
  const chosen = asked.filter((id) => first.includes(id))
  const [main, another] = chosen.length > 0 ? chosen : first
  if (main === undefined || another !== undefined)
    throw new WorkflowProblem(
      `The workflow begins with several samplers: give one of ${namedAll(kept, chosen.length > 0 ? chosen : first)} the title "sampler" in ComfyUI, and only that one, and export it again.`,
    )
  const notes = asked
    .filter((id) => !first.includes(id))
    .map(
      (id) =>
        `${named(kept, id)} has the title "sampler", but the image begins at ${named(kept, main)}: the wires decide, and the title has no effect.`,
    )
  return { main, samplers, notes }
}

/** What carries no setting and no text: a search for one must not end at another sampler, or at a loader. */
export const OTHER_WIRES =
  /^(model|clip|vae|latent|latent_image|latents|samples|images?(_?\d+)?|pixels|mask|positive|negative|conditioning|cond\d*|control_net)$/

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

/**
 * The same, settled by a title where the wires leave it open: on a node that holds or makes what comes to the sampler's
 * setting. A title elsewhere has no effect, and `notes` say so.
 */
export function titledSetting(
  kept: WorkflowGraph,
  main: string,
  { role, inputs, from }: { role: 'steps' | 'cfg'; inputs: readonly string[]; from: string },
): { slot: Slot | undefined; notes: string[] } {
  const asked = titledNumber(kept, role, [role], role)
  const wired = inputs.flatMap((input) =>
    inputOf(kept, main, input) !== undefined ? [[main, input] as const] : settingsBehind(kept, main, from, input),
  )
  const heard = asked.filter(([id]) => feeds(kept, id, wired.length === 1 ? (wired[0] as Slot) : [main, from]))
  const [slot, another] = heard
  const notes = asked.filter((it) => !heard.includes(it)).map(([id]) => contradicted(kept, id, role, main))
  // A title that several nodes have, such as the passes of an image, tells nothing.
  return { slot: slot && !another ? slot : settingOf(kept, main, inputs, from), notes }
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
