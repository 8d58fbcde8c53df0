import { SIZE_STEP } from '../../../core/generations/generation.js'
import { unique } from './bind-samplers.js'
import { emptySize, LATENT, latentSources, PAIRS, type Pair, PICTURE, pairOf } from './empty-size.js'
import { numberAt, type Settled, settle } from './node-values.js'
import {
  ancestorsOf,
  descendantsOf,
  inputOf,
  named,
  nodeAt,
  type Slot,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wiresOf,
} from './workflow-graph.js'

/** Besides those: what SDXL's encoders are told, and what a node that resizes takes for this way of doing so. */
const REPEATED: readonly Pair[] = [
  ...PAIRS,
  ['target_width', 'target_height'],
  ['resize_type.width', 'resize_type.height'],
]

/** The size where the file does not say it. */
const UNKNOWN = 1024

const DEFAULT_SIZE = `${UNKNOWN} by ${UNKNOWN} if none is asked for: give the version defaults if its model needs others`

/** Latents of which one element is so many pixels wide and high, where that is more than usual. */
const PIXELS = new Map([
  ['EmptyFlux2LatentImage', 16],
  ['EmptyHunyuanVideo15Latent', 16],
  ['EmptyChromaRadianceLatentImage', 16],
  ['StableCascade_EmptyLatentImage', 16],
  ['Wan22ImageToVideoLatent', 16],
  ['TextEncodeMageFlowEdit', 16],
  ['EmptyHunyuanImageLatent', 32],
  ['EmptyLTXVLatentVideo', 32],
  ['EmptyHiDreamO1LatentImage', 32],
])

/**
 * The inputs that get the size: at the empty latent of the main sampler, and wherever the same two numbers are
 * repeated. Sizes of later passes keep their ratio. `multiple`: of other widths and heights the image would be smaller.
 * @throws WorkflowProblem
 */
export function bindSize(kept: WorkflowGraph, main: string, samplers: readonly string[]) {
  const { width, height, batch, settled, notes: titleNotes } = emptySize(kept, main)
  const [w, h] = settled.map(({ value }) => Number(value) || undefined)
  const known = w !== undefined && h !== undefined ? ([w, h] as const) : undefined
  const sources = new Set(settled.flatMap(({ computedBy }) => computedBy ?? []))
  const notes = [...titleNotes, ...[...sources].map((id) => replaced(kept, id, known))]
  if (!known && sources.size === 0) notes.push(`The file does not say its size, ${DEFAULT_SIZE}.`)
  const later = laterSizes(kept, main, samplers)
  const [widths, heights] = [[...width], [...height]]
  const bound = new Set([...width, ...height].map(String))
  const holders = new Set([...width, ...height].map(([id]) => id))
  const scaledWidth: Slot[] = []
  const scaledHeight: Slot[] = []
  const done = new Set<string>()
  for (const [id, pair] of sizesIn(kept)) {
    const [a, b] = pair.map((input) => numberAt(kept, id, input)) as [number, number]
    // Many nodes may get the same two wires: what feeds them is written once.
    const wires = pair.map((input) => wireAt(kept, id, input))
    const key = JSON.stringify([...wires, later.has(id)])
    if (!wires.includes(undefined) && done.has(key)) continue
    done.add(key)
    const sides = pair.map((input) => settle(kept, [id, input])) as [Settled, Settled]
    const slots = [sides[0].slots, sides[1].slots] as const
    if (slots.flat().every((slot) => bound.has(String(slot))) || sources.has(id)) continue
    // What is computed of the size follows by itself.
    if (sides.some((it) => isMadeOf(kept, it, holders))) continue
    if (later.has(id) && !known) throw unscalable(kept, id)
    if (known && a === known[0] && b === known[1]) {
      for (const slot of slots[0]) widths.push(slot)
      for (const slot of slots[1]) heights.push(slot)
      for (const slot of slots.flat()) bound.add(String(slot))
    } else if (later.has(id)) {
      // 0 means "as the ratio wants it".
      if (a > 0) for (const slot of slots[0]) scaledWidth.push(slot)
      if (b > 0) for (const slot of slots[1]) scaledHeight.push(slot)
    } else notes.push(`The size ${a} by ${b} of ${named(kept, id)} stays as it is in the file.`)
  }
  const first = Object.keys(kept).filter((id) => !later.has(id))
  const multiple = Math.max(SIZE_STEP, ...first.map((id) => PIXELS.get(nodeAt(kept, id)?.class_type ?? '') ?? 0))
  return {
    ...{ width: unique(widths), height: unique(heights), batch, multiple },
    ...{ scaledWidth: unique(scaledWidth), scaledHeight: unique(scaledHeight) },
    file: { width: w ?? UNKNOWN, height: h ?? UNKNOWN },
    notes: [...new Set([...notes, ...unscaled(kept, later)])],
  }
}

const isMadeOf = (kept: WorkflowGraph, { computedBy }: Settled, holders: ReadonlySet<string>) =>
  computedBy !== undefined && [...ancestorsOf(kept, computedBy)].some((id) => holders.has(id))

const replaced = (kept: WorkflowGraph, id: string, known: readonly [number, number] | undefined) =>
  `The size that ${named(kept, id)} computes is replaced by the one that is asked for${known ? '' : `, ${DEFAULT_SIZE}`}.`

/** Sizes by one number, which keep their image's ratio. */
const BY_ONE = /^(resize_type\.)?(megapixels|(largest|longer|shorter)_size|(longest|shortest)_side)$/

const unscaled = (kept: WorkflowGraph, later: ReadonlySet<string>): string[] =>
  [...later].flatMap((id) => {
    const by = Object.keys(nodeAt(kept, id)?.inputs ?? {}).find((input) => BY_ONE.test(input))
    return by === undefined
      ? []
      : `${named(kept, id)} makes all images as large as its ${by} says, whatever size is asked for: limit the version to one size, or scale by a factor instead.`
  })

/** The nodes with a width and a height that the file says. */
const sizesIn = (kept: WorkflowGraph): [id: string, Pair][] =>
  Object.keys(kept).flatMap((id) =>
    REPEATED.filter((pair) => pair.every((input) => numberAt(kept, id, input) !== undefined)).map(
      (pair): [string, Pair] => [id, pair],
    ),
  )

/** The nodes that size an image after the main sampler, or begin another one of which it is made. */
function laterSizes(kept: WorkflowGraph, main: string, samplers: readonly string[]): Set<string> {
  const after = [...descendantsOf(kept, [main])].filter((id) => id !== main && isResize(kept, id))
  const own = new Set(latentSources(kept, main))
  const others = samplers.filter((id) => id !== main).flatMap((id) => latentSources(kept, id))
  return new Set([...after, ...others.filter((id) => !own.has(id) && id !== main)])
}

/** A size that the image takes, not one of tiles or regions. */
const isResize = (kept: WorkflowGraph, id: string) => imageWires(kept, id).length > 0

/** The wires with an image, as pixels or as a latent. */
const imageWires = (kept: WorkflowGraph, id: string) =>
  wiresOf(kept, id).filter(([name]) => LATENT.test(name) || PICTURE.test(name) || name === 'input')

const unscalable = (kept: WorkflowGraph, id: string) =>
  new WorkflowProblem(
    `${named(kept, id)} has a fixed size, but the size at the sampler is computed: write the two numbers into the empty latent, or titles "width" and "height" onto the nodes that hold them, and export the workflow again.`,
  )

/**
 * The size of the image divided by the asked one, from the last pass back to the main sampler; undefined where the
 * graph does not say it.
 */
export function scaleOf(
  kept: WorkflowGraph,
  { main, samplers, output }: { main: string; samplers: readonly string[]; output: string },
  file: { width: number; height: number },
) {
  const between = new Set([...descendantsOf(kept, [main]), ...laterSizes(kept, main, samplers)])
  const first = new Set(latentSources(kept, main))
  let scale = 1
  let id = output
  for (const passed = new Set<string>(); id !== main; ) {
    // Another pass may begin as the first one does.
    if (first.has(id)) return scale
    if (passed.has(id) || !between.has(id)) return undefined
    passed.add(id)
    const name = nodeAt(kept, id)?.class_type ?? ''
    const pair = pairOf(kept, id, REPEATED)
    const by = ['scale_by', 'upscale_by', 'resize_type.multiplier'].find(
      (input) => inputOf(kept, id, input) !== undefined,
    )
    if (by !== undefined) {
      const factor = numberAt(kept, id, by)
      if (factor === undefined) return undefined
      scale *= factor
    } else if (pair && SETS_SIZE.test(name)) {
      const [a = 0, b = 0] = [numberAt(kept, id, pair[0]), numberAt(kept, id, pair[1])]
      if (a * file.height !== b * file.width || a === 0) return undefined
      return (scale * a) / file.width
    } else if (!SAME_SIZE.test(name)) return undefined
    const [next] = imageWires(kept, id)
    if (!next) return undefined
    id = wireAt(kept, id, next[0])?.[0] ?? ''
  }
  return scale
}

/** Nodes whose image has their width and height. */
const SETS_SIZE =
  /^(LatentUpscale|ImageScale|ResizeImageMaskNode|Empty(SD3|Flux2|ChromaRadiance|HunyuanImage|HiDreamO1)?Latent(Image)?)$/

/** Nodes whose image is as large as the one they get. */
const SAME_SIZE =
  /^(VAEDecode(Tiled)?|VAEEncode(Tiled)?|KSampler(Advanced)?|SamplerCustom(Advanced)?|Image(Sharpen|Blur|Invert|Quantize|Flip|AddNoise|FromBatch)|Latent(FromBatch|Multiply|Blend)|Adjust(Brightness|Contrast)|SetLatentNoiseMask|FaceDetailer|SaveImage|PreviewImage)$/
