import { type Binding, type BoundWorkflow, slotsOf } from './bind-workflow.js'
import { numberAt } from './node-values.js'
import { descendantsOf, only, type Slot, type WorkflowGraph, wireOf } from './workflow-graph.js'

export interface WorkflowValues {
  readonly prompt: string
  readonly negativePrompt: string
  /** Pixels. */
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly cfgScale: number
  /** Under the server's names; undefined where the workflow's own stays. */
  readonly sampler?: { readonly name: string; readonly schedule: string | undefined } | undefined
}

type Nodes = Record<string, { readonly class_type: string; readonly inputs: Record<string, unknown> }>

/**
 * The prompt that draws all images: the nodes that depend on a seed are copied for each image, so a batch is the same
 * as single images; the others run once. Each output is a temporary file, whose node has the attempt's id as an input
 * that it does not know: with the inputs of the last run it would answer with the old file.
 * `bound`: the inputs that were written, under the ids of `nodes`; the server may cast the others.
 */
export function fillWorkflow(
  { graph, binding, defaults }: Pick<BoundWorkflow, 'graph' | 'binding' | 'defaults'>,
  values: WorkflowValues,
  seeds: readonly number[],
  attemptId: string,
) {
  const kept = only(graph, new Set(binding.keep))
  const written = valuesBySlot(kept, binding, defaults, values)
  const copied = descendantsOf(kept, new Set(binding.seed.map(([node]) => node)))
  const taken = new Set(binding.keep)
  const ids = seeds.map((_, n) => idsOf(copied, n, taken))
  const nodes = new Map<string, Nodes[string]>()
  const images: { seed: number; saveNode: string }[] = []
  for (const [n, seed] of seeds.entries()) {
    const nameOf = (id: string) => ids[n]?.get(id) ?? id
    const seedSlots = new Set(binding.seed.map(keyOf))
    for (const [id, { class_type, inputs }] of Object.entries(kept)) {
      if (nodes.has(nameOf(id))) continue
      const filled = Object.entries(inputs).map(([input, value]) => {
        const key = keyOf([id, input])
        if (seedSlots.has(key)) return [input, seed]
        if (written.has(key)) return [input, written.get(key)]
        const wire = wireOf(value)
        return [input, wire ? [nameOf(wire[0]), wire[1]] : value]
      })
      nodes.set(nameOf(id), { class_type, inputs: Object.fromEntries(filled) })
    }
    const saveNode = freeId(`easel_save_${n}`, taken)
    const [output, index] = binding.output
    const inputs = { images: [nameOf(output), index], easel_attempt: attemptId }
    nodes.set(saveNode, { class_type: 'PreviewImage', inputs })
    images.push({ seed, saveNode })
  }
  const copiesOf = (id: string) => [...new Set(ids.map((names) => names.get(id) ?? id))]
  return {
    nodes: Object.fromEntries(nodes) as Nodes,
    images,
    samplerNodes: binding.samplers.flatMap(copiesOf),
    bound: slotsOf(binding).flatMap(([id, input]) => copiesOf(id).map((copy): Slot => [copy, input])),
  }
}

const keyOf = (slot: Slot) => JSON.stringify(slot)

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
function valuesBySlot(kept: WorkflowGraph, binding: Binding, file: BoundWorkflow['defaults'], values: WorkflowValues) {
  const written = new Map<string, unknown>()
  const write = (slots: readonly Slot[], value: unknown) => {
    for (const slot of slots) written.set(keyOf(slot), value)
  }
  const scale = (slots: readonly Slot[], to: (fileValue: number) => number) => {
    for (const [id, input] of slots) written.set(keyOf([id, input]), to(numberAt(kept, id, input) ?? 0))
  }
  write(binding.prompt, values.prompt)
  write(binding.negative, values.negativePrompt)
  write(binding.width, values.width)
  write(binding.height, values.height)
  write(binding.batch, 1)
  write(binding.steps, values.steps)
  write(binding.cfg, values.cfgScale)
  // Both or neither: a sampler without its schedule is another sampler.
  if (values.sampler?.schedule !== undefined) {
    write(binding.sampler, values.sampler.name)
    write(binding.scheduler, values.sampler.schedule)
  }
  scale(binding.scaledWidth, (width) => toEights((width * values.width) / file.width))
  scale(binding.scaledHeight, (height) => toEights((height * values.height) / file.height))
  const { steps = values.steps } = file
  scale(binding.stepBounds, (bound) => Math.min(Math.max(Math.round((bound * values.steps) / steps), 1), values.steps))
  return written
}

const toEights = (pixels: number) => Math.max(Math.round(pixels / 8) * 8, 8)
