import type { GenerationParameters } from '../../../core/generations/generation.js'
import { inertTextForWildcards } from '../../inert-text.js'
import type { ServerSampler } from '../../samplers.js'
import type { Range } from '../node-classes.js'
import { type Binding, type BoundWorkflow, slotsOf } from './bind-workflow.js'
import { numberAt, numberOf } from './node-values.js'
import { tagReaders } from './tag-readers.js'
import {
  descendantsOf,
  inputOf,
  keyOf,
  only,
  type Slot,
  type WorkflowGraph,
  type WorkflowNode,
  wireOf,
} from './workflow-graph.js'

/** A workflow as it can be drawn with. */
export interface Workflow extends Pick<BoundWorkflow, 'graph'> {
  readonly binding: Omit<Binding, 'scale'>
  /** What the file itself draws, from which other sizes and steps are scaled. */
  readonly defaults: Pick<BoundWorkflow['defaults'], 'width' | 'height' | 'steps'>
  /** By the slot of a number that is written: what the server says that this node takes; it refuses others. */
  readonly ranges?: ReadonlyMap<string, Range>
}

/** One prompt for ComfyUI. */
export interface Graph {
  readonly nodes: Readonly<Record<string, WorkflowNode>>
  /** One per seed, and the node that keeps it. */
  readonly images: readonly { readonly seed: number; readonly saveNode: string }[]
  /** Whose progress counts, each by its steps. */
  readonly samplers: readonly { readonly node: string; readonly steps: number }[]
  /** The inputs that were written; the server may cast the others. */
  readonly written: readonly Slot[]
}

/**
 * The prompt that draws all images: the nodes that depend on a seed are copied for each image, so a batch is the same
 * as single images, because a server gives a batch one seed; the others run once. The images are saved as temporary
 * files. Their nodes have the attempt's id as an input that they do not know: with the inputs of the last run they would
 * answer with the old file.
 * @param sampler undefined where the workflow's own stays
 */
export function fillWorkflow(
  { graph, binding, defaults, ranges }: Workflow,
  asked: GenerationParameters,
  sampler: ServerSampler | undefined,
  seeds: readonly number[],
  attemptId: string,
): Graph {
  const kept = only(graph, new Set(binding.keep))
  const values = valuesBySlot(kept, binding, defaults, asked, sampler)
  const copied = descendantsOf(kept, new Set(binding.seed.map(([node]) => node)))
  const seedSlots = new Set(binding.seed.map(keyOf))
  const taken = new Set(binding.keep)
  const ids = seeds.map((_, n) => idsOf(copied, n, taken))
  const nodes = new Map<string, WorkflowNode>()
  const images = seeds.map((seed, n) => {
    const nameOf = (id: string) => ids[n]?.get(id) ?? id
    for (const [id, { class_type, inputs }] of Object.entries(kept)) {
      if (nodes.has(nameOf(id))) continue
      const filled = Object.entries(inputs).map(([input, value]) => {
        const key = keyOf([id, input])
        if (seedSlots.has(key)) return [input, within(ranges?.get(key), seed)]
        if (values.has(key)) return [input, values.get(key)]
        const wire = wireOf(value)
        return [input, wire ? [nameOf(wire[0]), wire[1]] : value]
      })
      nodes.set(nameOf(id), { class_type, inputs: Object.fromEntries(filled) })
    }
    const saveNode = freeId(`easel_image_${n}`, taken)
    const [output, index] = binding.output
    nodes.set(saveNode, {
      class_type: 'PreviewImage',
      inputs: { images: [nameOf(output), index], easel_attempt: attemptId },
    })
    return { seed, saveNode }
  })
  const filled = Object.fromEntries(nodes)
  const copiesOf = (id: string) => [...new Set(ids.map((names) => names.get(id) ?? id))]
  return {
    nodes: filled,
    images,
    samplers: binding.samplers.flatMap(copiesOf).map((node) => ({ node, steps: stepsOf(filled, node) ?? asked.steps })),
    written: slotsOf(binding).flatMap(([id, input]) => copiesOf(id).map((copy): Slot => [copy, input])),
  }
}

/** A seed that is too large begins anew: the same one becomes the same each time. */
function within({ min, max }: Range = { min: 0, max: Infinity }, seed: number): number {
  if (seed >= min && seed <= max) return seed
  const first = Math.max(min, 0)
  return first + (seed % (max - first + 1))
}

/** Undefined where another node makes its steps. */
function stepsOf(nodes: WorkflowGraph, sampler: string): number | undefined {
  const [steps, first = 0, end = Number.POSITIVE_INFINITY] = ['steps', 'start_at_step', 'end_at_step'].map((input) =>
    numberOf(inputOf(nodes, sampler, input)),
  )
  return steps === undefined ? undefined : Math.max(Math.min(end, steps) - first, 1)
}

/** The first image's nodes keep their ids. */
function idsOf(copied: ReadonlySet<string>, n: number, taken: Set<string>): Map<string, string> {
  return new Map([...copied].map((id) => [id, n === 0 ? id : freeId(`${id}_${n}`, taken)]))
}

function freeId(wanted: string, taken: Set<string>): string {
  let id = wanted
  while (taken.has(id)) id = `${id}_`
  taken.add(id)
  return id
}

/** What is written at each slot but the seeds, which differ from image to image. */
function valuesBySlot(
  kept: WorkflowGraph,
  binding: Workflow['binding'],
  file: Workflow['defaults'],
  asked: GenerationParameters,
  sampler: ServerSampler | undefined,
) {
  const values = new Map<string, unknown>()
  const write = (slots: readonly Slot[], value: unknown) => {
    for (const slot of slots) values.set(keyOf(slot), value)
  }
  const scale = (slots: readonly Slot[], to: (fileValue: number) => number) => {
    for (const [id, input] of slots) values.set(keyOf([id, input]), to(numberAt(kept, id, input) ?? 0))
  }
  const written = (slots: readonly Slot[], text: string) =>
    write(slots, tagReaders(kept, slots).length > 0 ? inertTextForWildcards(text) : text)
  written(binding.prompt, asked.prompt)
  written(binding.negative, asked.negativePrompt)
  write(binding.width, asked.width)
  write(binding.height, asked.height)
  write(binding.batch, 1)
  write(binding.steps, asked.steps)
  write(binding.cfg, asked.cfgScale)
  // Both or neither: a sampler without its schedule is another sampler.
  if (sampler?.schedule !== undefined) {
    write(binding.sampler, sampler.name)
    write(binding.scheduler, sampler.schedule)
  }
  scale(binding.scaledWidth, (width) => toEights((width * asked.width) / file.width))
  scale(binding.scaledHeight, (height) => toEights((height * asked.height) / file.height))
  const { steps = asked.steps } = file
  scale(binding.stepBounds, (bound) => Math.min(Math.max(Math.round((bound * asked.steps) / steps), 1), asked.steps))
  return values
}

const toEights = (pixels: number) => Math.max(Math.round(pixels / 8) * 8, 8)
