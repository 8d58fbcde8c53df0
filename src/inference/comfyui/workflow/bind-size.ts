import { unique } from './bind-samplers.js'
import { titled } from './node-titles.js'
import { numberAt, settle, titledNumber } from './node-values.js'
import {
  descendantsOf,
  inputOf,
  named,
  namedAll,
  nodeAt,
  type Slot,
  type Wire,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wiresOf,
} from './workflow-graph.js'

/** The names of the two inputs of a size. */
type Pair = readonly [width: string, height: string]
const PAIRS: readonly Pair[] = [
  ['width', 'height'],
  ['empty_latent_width', 'empty_latent_height'],
]
/** Besides those: what SDXL's encoders are told. */
const REPEATED: readonly Pair[] = [...PAIRS, ['target_width', 'target_height']]

const LATENT = /^(samples|latent|latents|latent_image)(_?\d+|_to|_from)?$/
const PICTURE = /^(image|images|pixels)(_?\d+)?$/

/** The size where the file computes it. */
const UNKNOWN = 1024

const pairOf = (kept: WorkflowGraph, id: string, pairs = PAIRS): Pair | undefined =>
  pairs.find(([width, height]) => inputOf(kept, id, width) !== undefined && inputOf(kept, id, height) !== undefined)

/**
 * The inputs that get the size: at the empty latent of the main sampler, and wherever the same two numbers are
 * repeated. Sizes of later passes keep their ratio.
 * @throws WorkflowProblem
 */
export function bindSize(kept: WorkflowGraph, main: string) {
  const { width, height, batch, settled } = emptySize(kept, main)
  const notes = [...new Set(settled.flatMap(({ computedBy }) => computedBy ?? []))].map(
    (id) =>
      `The size that ${named(kept, id)} computes is replaced by the one that is asked for, ${UNKNOWN} by ${UNKNOWN} if none is.`,
  )
  const [w, h] = settled.map(({ value }) => Number(value) || undefined)
  const known = w !== undefined && h !== undefined ? ([w, h] as const) : undefined
  const after = descendantsOf(kept, [main])
  after.delete(main)
  const bound = new Set([...width, ...height].map(String))
  const scaledWidth: Slot[] = []
  const scaledHeight: Slot[] = []
  const done = new Set<string>()
  for (const id of Object.keys(kept))
    for (const [wide, high] of REPEATED) {
      const [a, b] = [numberAt(kept, id, wide), numberAt(kept, id, high)]
      if (a === undefined || b === undefined) continue
      // Many nodes may get the same two wires: what feeds them is written once.
      const sources = [wireAt(kept, id, wide), wireAt(kept, id, high)]
      const key = JSON.stringify([...sources, after.has(id)])
      if (!sources.includes(undefined) && done.has(key)) continue
      done.add(key)
      const slots = [settle(kept, [id, wide]).slots, settle(kept, [id, high]).slots] as const
      if (slots.flat().every((slot) => bound.has(String(slot)))) continue
      if (after.has(id) && !known) throw unscalable(kept, id)
      if (known && a === known[0] && b === known[1]) {
        for (const slot of slots[0]) width.push(slot)
        for (const slot of slots[1]) height.push(slot)
      } else if (after.has(id) && isResize(kept, id)) {
        // 0 means "as the ratio wants it".
        if (a > 0) for (const slot of slots[0]) scaledWidth.push(slot)
        if (b > 0) for (const slot of slots[1]) scaledHeight.push(slot)
      } else notes.push(`The size ${a} by ${b} of ${named(kept, id)} stays as it is in the file.`)
    }
  return {
    width: unique(width),
    height: unique(height),
    batch,
    scaledWidth: unique(scaledWidth),
    scaledHeight: unique(scaledHeight),
    file: { width: w ?? UNKNOWN, height: h ?? UNKNOWN },
    notes,
  }
}

/** A size that the image takes, not one of tiles or regions. */
const isResize = (kept: WorkflowGraph, id: string) =>
  wiresOf(kept, id).some(([name]) => LATENT.test(name) || PICTURE.test(name))

const unscalable = (kept: WorkflowGraph, id: string) =>
  new WorkflowProblem(
    `${named(kept, id)} has a fixed size, but the size at the sampler is computed: write the two numbers into the empty latent, or titles "width" and "height" onto the nodes that hold them, and export the workflow again.`,
  )

/** The titles come first; a node with both numbers otherwise. @throws WorkflowProblem */
function emptySize(kept: WorkflowGraph, main: string) {
  const wide = titledNumber(kept, 'width', ['width'], 'number')
  const high = titledNumber(kept, 'height', ['height'], 'number')
  const pair = wide.length > 0 && high.length > 0 ? undefined : sizeNode(kept, main)
  const settledSide = (slots: readonly Slot[], own: Slot | undefined) =>
    (slots.length === 0 && own ? [own] : slots).map((slot) => settle(kept, slot))
  const width = settledSide(wide, pair?.width)
  const height = settledSide(high, pair?.height)
  return {
    width: width.flatMap(({ slots }) => slots),
    height: height.flatMap(({ slots }) => slots),
    settled: [...width.slice(0, 1), ...height.slice(0, 1)],
    batch: batchesOf(kept),
  }
}

function sizeNode(kept: WorkflowGraph, main: string): { width: Slot; height: Slot } {
  const asked = titled(kept, 'size')
  const sources = asked.length > 0 ? asked : latentSources(kept, main)
  const [id, another] = sources
  if (another !== undefined)
    throw new WorkflowProblem(
      `The size comes from several nodes: give one of ${namedAll(kept, sources)} the title "size" in ComfyUI, and only that one, and export the workflow again.`,
    )
  const pair = id === undefined ? undefined : pairOf(kept, id)
  if (id === undefined || !pair) throw noSize(kept, id ?? main)
  return { width: [id, pair[0]], height: [id, pair[1]] }
}

/** Each image has a copy of the graph, so every batch in it is of one. */
const batchesOf = (kept: WorkflowGraph): Slot[] =>
  Object.keys(kept)
    .filter((id) => inputOf(kept, id, 'batch_size') !== undefined)
    .filter((id) => pairOf(kept, id) || /latent/i.test(nodeAt(kept, id)?.class_type ?? ''))
    .map((id) => [id, 'batch_size'])

/** Follows the latent of a sampler up to what makes it from a size alone. @throws WorkflowProblem for an image */
function latentSources(kept: WorkflowGraph, main: string): string[] {
  const open: Wire[] = latentWires(kept, main)
  const seen = new Set<string>()
  const found: string[] = []
  for (let next = open.pop(); next; next = open.pop()) {
    const [id] = next
    if (seen.has(id) || !nodeAt(kept, id)) continue
    seen.add(id)
    const wires = latentWires(kept, id)
    const picture = wiresOf(kept, id).find(([name]) => PICTURE.test(name))
    if (picture) throw fromImage(kept, id)
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
    `${named(kept, id)} has no width and height to set: give the node that holds both the title "size" in ComfyUI, or two nodes "width" and "height", and export the workflow again.`,
  )

/**
 * The size of the image divided by the asked one, from the last pass back to the main sampler; undefined where the
 * graph does not say it.
 */
export function scaleOf(kept: WorkflowGraph, main: string, output: string, file: { width: number; height: number }) {
  const between = descendantsOf(kept, [main])
  let scale = 1
  let id = output
  for (const passed = new Set<string>(); id !== main; ) {
    if (passed.has(id) || !between.has(id)) return undefined
    passed.add(id)
    const name = nodeAt(kept, id)?.class_type ?? ''
    const pair = pairOf(kept, id)
    const by = ['scale_by', 'upscale_by'].find((input) => inputOf(kept, id, input) !== undefined)
    if (by !== undefined) {
      const factor = numberAt(kept, id, by)
      if (factor === undefined) return undefined
      scale *= factor
    } else if (pair && /^(LatentUpscale|ImageScale)$/.test(name)) {
      const [a = 0, b = 0] = [numberAt(kept, id, pair[0]), numberAt(kept, id, pair[1])]
      if (a * file.height !== b * file.width || a === 0) return undefined
      return (scale * a) / file.width
    } else if (!SAME_SIZE.test(name)) return undefined
    const next = wiresOf(kept, id).find(([input]) => LATENT.test(input) || PICTURE.test(input))
    if (!next) return undefined
    id = wireAt(kept, id, next[0])?.[0] ?? ''
  }
  return scale
}

/** Nodes whose image is as large as the one they get. */
const SAME_SIZE =
  /^(VAEDecode(Tiled)?|VAEEncode(Tiled)?|KSampler(Advanced)?|SamplerCustom(Advanced)?|ImageSharpen|ImageBlur|FaceDetailer|SaveImage|PreviewImage)$/
