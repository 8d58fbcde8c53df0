/** Where the size of the main sampler's image is. */
import { contradicted, titled } from './node-titles.js'
import { settle, titledNumber } from './node-values.js'
import {
  ancestorsOf,
  feeds,
  inputOf,
  named,
  namedAll,
  nodeAt,
  type Slot,
  shown,
  type Wire,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wiresOf,
} from './workflow-graph.js'

/** The names of the two inputs of a size. */
export type Pair = readonly [width: string, height: string]
export const PAIRS: readonly Pair[] = [
  ['width', 'height'],
  ['empty_latent_width', 'empty_latent_height'],
]

export const LATENT = /^(samples|latent|latents|latent_image)(_?\d+|_to|_from)?$/
export const PICTURE = /^(image|images|pixels)(_?\d+)?$/

export const pairOf = (kept: WorkflowGraph, id: string, pairs = PAIRS): Pair | undefined =>
  pairs.find(([width, height]) => inputOf(kept, id, width) !== undefined && inputOf(kept, id, height) !== undefined)

/** By the wires, in which titles settle what those leave open. @throws WorkflowProblem */
export function emptySize(kept: WorkflowGraph, main: string) {
  const wired = sizeNode(kept, main)
  const ancestors = ancestorsOf(kept, main)
  const side = (role: 'width' | 'height') => {
    const asked = titledNumber(kept, role, [role], 'number')
    const isHeard = ([id]: Slot) => (wired.pair ? feeds(kept, id, wired.pair[role]) : ancestors.has(id))
    const heard = asked.filter(isHeard)
    const slots = heard.length === 0 && wired.pair ? [wired.pair[role]] : heard
    const notes = asked.filter((it) => !isHeard(it)).map(([id]) => contradicted(kept, id, role, main))
    return { settled: slots.map((slot) => settle(kept, slot)), notes }
  }
  const [width, height] = [side('width'), side('height')]
  if (wired.problem && (width.settled.length === 0 || height.settled.length === 0)) throw wired.problem
  return {
    width: width.settled.flatMap(({ slots }) => slots),
    height: height.settled.flatMap(({ slots }) => slots),
    settled: [...width.settled.slice(0, 1), ...height.settled.slice(0, 1)],
    batch: batchesOf(kept),
    notes: [...wired.notes, ...width.notes, ...height.notes],
  }
}

interface SizeNode {
  readonly pair?: { readonly width: Slot; readonly height: Slot }
  /** Why there is none. */
  readonly problem?: WorkflowProblem
}

/** Where the wires end; where they tell no size, the node with the title "size" that the sampler needs. */
function sizeNode(kept: WorkflowGraph, main: string): SizeNode & { readonly notes: string[] } {
  const asked = titled(kept, 'size')
  const wired = sizeOf(kept, main, () => latentSources(kept, main, 'no image'))
  const { pair } = wired
  const ancestors = ancestorsOf(kept, main)
  const isHeard = (id: string) =>
    pair ? feeds(kept, id, pair.width) || feeds(kept, id, pair.height) : ancestors.has(id)
  const heard = asked.filter(isHeard)
  const notes = asked.filter((id) => !isHeard(id)).map((id) => contradicted(kept, id, 'size', main))
  return { ...(heard.length > 0 ? sizeOf(kept, main, () => heard) : wired), notes }
}

function sizeOf(kept: WorkflowGraph, main: string, sourcesOf: () => readonly string[]): SizeNode {
  try {
    const sources = sourcesOf()
    const [id, another] = sources
    if (another !== undefined)
      throw new WorkflowProblem(
        `The size comes from several nodes: give one of ${namedAll(kept, sources)} the title "size" in ComfyUI, and only that one, and export the workflow again.`,
      )
    const names = id === undefined ? undefined : pairOf(kept, id)
    if (id === undefined || !names) throw noSize(kept, id ?? main)
    const problem = byName(kept, id)
    return problem ? { problem } : { pair: { width: [id, names[0]], height: [id, names[1]] } }
  } catch (error) {
    if (error instanceof WorkflowProblem) return { problem: error }
    throw error
  }
}

/** Each image has a copy of the graph, so every batch in it is of one. */
const batchesOf = (kept: WorkflowGraph): Slot[] =>
  Object.keys(kept)
    .filter((id) => inputOf(kept, id, 'batch_size') !== undefined)
    .filter((id) => pairOf(kept, id) || /latent/i.test(nodeAt(kept, id)?.class_type ?? ''))
    .map((id) => [id, 'batch_size'])

/** Follows the latent of a sampler up to what makes it from a size alone. @throws WorkflowProblem for an image, where asked to */
export function latentSources(kept: WorkflowGraph, main: string, refuse?: 'no image'): string[] {
  const open: Wire[] = latentWires(kept, main)
  const seen = new Set<string>()
  const found: string[] = []
  for (let next = open.pop(); next; next = open.pop()) {
    const [id] = next
    if (seen.has(id) || !nodeAt(kept, id)) continue
    seen.add(id)
    const wires = latentWires(kept, id)
    const picture = wiresOf(kept, id).find(([name]) => PICTURE.test(name))
    if (picture && refuse) throw fromImage(kept, id)
    if (picture) continue
    if (wires.length > 0) open.push(...wires)
    else found.push(id)
  }
  return found
}

const latentWires = (kept: WorkflowGraph, id: string): Wire[] => {
  const wires = wiresOf(kept, id)
  const latents = wires.filter(([name]) => LATENT.test(name))
  const isSwitch = /reroute|switch/i.test(nodeAt(kept, id)?.class_type ?? '')
  const pipes = wires.filter(([name]) => /^(pipe|basic_pipe|sdxl_tuple)$/.test(name))
  const chosen = latents.length > 0 ? latents : isSwitch && wires.length === 1 ? wires : pairOf(kept, id) ? [] : pipes
  return chosen.flatMap(([name]) => {
    const wire = wireAt(kept, id, name)
    return wire ? [wire] : []
  })
}

const fromImage = (kept: WorkflowGraph, id: string) =>
  new WorkflowProblem(
    `${named(kept, id)} takes the size from an image, and images as input are not supported yet: connect an Empty Latent Image to the sampler instead, and export the workflow again.`,
  )

const noSize = (kept: WorkflowGraph, id: string) =>
  new WorkflowProblem(
    titled(kept, 'size').includes(id)
      ? `${named(kept, id)} has the title "size", but no width and height: give that title to a node that has both, such as Empty Latent Image, and export the workflow again.`
      : `${named(kept, id)} has no width and height to set: put a node that has both in its place, such as Empty Latent Image, or give the node that holds both the title "size" in ComfyUI, or two nodes "width" and "height", and export the workflow again.`,
  )

/** Its numbers have no effect while the size is chosen by its name. */
function byName(kept: WorkflowGraph, id: string): WorkflowProblem | undefined {
  const [input, value] =
    Object.entries(nodeAt(kept, id)?.inputs ?? {}).find(
      ([name, it]) => BY_NAME.test(name) && typeof it === 'string' && /\d/.test(it) && !/custom/i.test(it),
    ) ?? []
  if (input === undefined) return undefined
  return new WorkflowProblem(
    `${named(kept, id)} chooses its size by its ${shown(input)}, ${shown(String(value))}: choose one that takes width and height there, or put an Empty Latent Image in its place, and export the workflow again.`,
  )
}

const BY_NAME = /^(resolution|dimensions?|aspect_ratio|ratio|preset)$/
