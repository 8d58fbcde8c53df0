import { unique } from './bind-samplers.js'
import { titled } from './node-titles.js'
import { valueInput } from './node-values.js'
import {
  ancestorsOf,
  inputOf,
  named,
  namedAll,
  nodeAt,
  type Slot,
  type Wire,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wireOf,
  wiresOf,
} from './workflow-graph.js'

type Side = 'positive' | 'negative'
const TITLE = { positive: 'prompt', negative: 'negative' } as const

/** The inputs of text encoders. Not `system_prompt`, which belongs to the model. */
const TEXT_INPUTS = [
  'text',
  'text_g',
  'text_l',
  'clip_l',
  'clip_g',
  't5xxl',
  'llama',
  'prompt',
  'user_prompt',
  'bert',
  'mt5xl',
  'positive_prompt',
]

/** The inputs that carry conditioning from node to node. */
const CONDITIONING = /^(conditioning|cond)(_?\d+|_to|_from)?$|^(positive|negative)$/

/** Where the two texts of a sampler are encoded, or the inputs of a loader that has both. */
interface Encoders {
  readonly found: readonly Slot[]
  /** Something else than text on the way. */
  readonly unknown: readonly string[]
}

/**
 * The inputs that get the prompt and the negative prompt. `guided`: without guidance the negative side has no effect.
 * @throws WorkflowProblem
 */
export function bindTexts(kept: WorkflowGraph, main: string, samplers: readonly string[], guided: boolean) {
  const positive = encodersOf(kept, startsOf(kept, main, 'positive'), 'positive')
  const negative = guided ? encodersOf(kept, startsOf(kept, main, 'negative'), 'negative') : { found: [], unknown: [] }
  const prompt = textsOf(kept, main, 'positive', positive)
  const without = textsOf(kept, main, 'negative', negative)
  if (prompt.length === 0)
    throw new WorkflowProblem(
      `No text reaches ${named(kept, main)}: give the node that holds the prompt the title "prompt" in ComfyUI and export the workflow again.`,
    )
  const keys = new Set(prompt.map(String))
  if (without.some((slot) => keys.has(String(slot))))
    throw new WorkflowProblem(
      `The prompt and the negative prompt of ${named(kept, main)} come from one text, ${namedAll(kept, [...new Set(prompt.map(([id]) => id))])}: give the nodes that hold the two texts the titles "prompt" and "negative" in ComfyUI, or connect a text of its own to negative, and export the workflow again.`,
    )
  const later = laterTexts(kept, otherStarts(kept, main, samplers), { positive: prompt, negative: without }, [
    ...positive.found,
    ...negative.found,
  ])
  return {
    prompt: unique([...prompt, ...later.positive]),
    negative: unique([...without, ...later.negative]),
    notes: later.notes,
    promptText: textAt(kept, prompt),
    negativeText: textAt(kept, without),
  }
}

const textAt = (kept: WorkflowGraph, slots: readonly Slot[]): string | undefined => {
  const texts = slots.map(([id, input]) => inputOf(kept, id, input)).filter((it) => typeof it === 'string')
  return texts.find((it) => it !== '') ?? texts[0]
}

/** Follows conditioning up to the text encoders. */
function encodersOf(kept: WorkflowGraph, starts: readonly Wire[], side: Side): Encoders {
  const open = [...starts]
  const seen = new Set<string>()
  const found: Slot[] = []
  const unknown: string[] = []
  for (let next = open.pop(); next; next = open.pop()) {
    const [id, output] = next
    if (seen.has(String(next)) || !nodeAt(kept, id)) continue
    seen.add(String(next))
    // Zeroed out, whatever its text is: no text.
    if (/ZeroOut/i.test(nodeAt(kept, id)?.class_type ?? '')) continue
    const here = textInputs(kept, id, side)
    const wires = conditioningWires(kept, id, side, output)
    if (here.length > 0) found.push(...here)
    else if (wires.length > 0) open.push(...wires)
    else unknown.push(id)
  }
  return { found: unique(found), unknown }
}

/** The conditioning of a sampler on one side, or of its guider. */
function startsOf(kept: WorkflowGraph, sampler: string, side: Side): Wire[] {
  const guider = wireAt(kept, sampler, 'guider')?.[0]
  const holder = guider ?? sampler
  const names = side === 'negative' ? ['negative'] : ['positive', 'conditioning', 'cond1']
  const wires = names.flatMap((name) => {
    const wire = wireAt(kept, holder, name)
    return wire ? [wire] : []
  })
  if (wires.length > 0 || guider !== undefined) return wires.slice(0, 1)
  const pipe = ['pipe', 'basic_pipe', 'sdxl_tuple'].map((name) => wireAt(kept, sampler, name)).find((it) => it)
  return pipe ? [pipe] : []
}

/** A loader that has both texts names them `positive` and `negative`; all texts of an encoder are the prompt's. */
function textInputs(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  if (typeof inputOf(kept, id, side) === 'string') return [[id, side]]
  // A node that takes conditioning, such as a region's, may have a text for something else.
  if (wiresOf(kept, id).some(([name]) => CONDITIONING.test(name))) return []
  return TEXT_INPUTS.filter((name) => {
    const value = inputOf(kept, id, name)
    return typeof value === 'string' || wireOf(value) !== undefined
  }).map((name) => [id, name])
}

/** At a node with both sides, the output tells the side: 0 is positive, 1 negative; of a pipe it is the side asked for. */
function conditioningWires(kept: WorkflowGraph, id: string, side: Side, output: number): Wire[] {
  const positive = wireAt(kept, id, 'positive')
  const negative = wireAt(kept, id, 'negative')
  if (positive && negative) {
    const sideHere = output === 0 && !isPipe(kept, id) ? 'positive' : output === 1 ? 'negative' : side
    return [sideHere === 'positive' ? positive : negative]
  }
  const wires = wiresOf(kept, id)
  const chosen = wires.filter(([name]) => CONDITIONING.test(name))
  const followed = chosen.length > 0 ? chosen : wires.length === 1 && isSwitch(kept, id) ? wires : []
  return followed.flatMap(([name]) => {
    const wire = wireAt(kept, id, name)
    return wire ? [wire] : []
  })
}

const isPipe = (kept: WorkflowGraph, id: string) => /pipe/i.test(nodeAt(kept, id)?.class_type ?? '')
const isSwitch = (kept: WorkflowGraph, id: string) => /reroute|switch/i.test(nodeAt(kept, id)?.class_type ?? '')

/** The texts of the main sampler on one side: those with the title; else the encoder's. @throws WorkflowProblem */
function textsOf(kept: WorkflowGraph, main: string, side: Side, { found, unknown }: Encoders): Slot[] {
  const asked = titled(kept, TITLE[side])
  if (asked.length > 0) return asked.flatMap((id) => titledText(kept, id, side))
  const nodes = [...new Set(found.map(([id]) => id))]
  const texts = found.map((slot) => ({ slot, held: heldText(kept, slot) }))
  if (nodes.length > 1 && new Set(texts.map(({ held }) => JSON.stringify(held && inputOf(kept, ...held)))).size > 1)
    throw ambiguous(kept, main, side, nodes)
  if (unknown.length > 0) throw ambiguous(kept, main, side, [...nodes, ...unknown])
  const computed = texts.find(({ held }) => held === undefined)
  if (computed) throw ambiguous(kept, main, side, [...sourcesOf(kept, computed.slot)])
  return unique(texts.flatMap(({ held }) => (held ? [held] : [])))
}

const ambiguous = (kept: WorkflowGraph, main: string, side: Side, ids: readonly string[]) =>
  new WorkflowProblem(
    `The ${side === 'positive' ? 'prompt' : 'negative prompt'} of ${named(kept, main)} is made of several parts: give the node that holds the text, one of ${namedAll(kept, ids)}, the title "${TITLE[side]}" in ComfyUI and export the workflow again.`,
  )

/** Where a text is written: at the encoder, or at the node that holds nothing else; undefined if it is made of parts. */
function heldText(kept: WorkflowGraph, [id, input]: Slot): Slot | undefined {
  const wire = wireAt(kept, id, input)
  if (!wire) return [id, input]
  const held = valueInput(kept, wire[0]) ?? onlyText(kept, wire[0])
  return held !== undefined && typeof inputOf(kept, wire[0], held) === 'string' ? [wire[0], held] : undefined
}

/** The input of a node that is a text, where there is one and it takes no wires, which would make it a computation. */
function onlyText(kept: WorkflowGraph, id: string): string | undefined {
  if (wiresOf(kept, id).length > 0) return undefined
  const texts = Object.entries(nodeAt(kept, id)?.inputs ?? {}).filter(([, value]) => typeof value === 'string')
  return texts.length === 1 ? texts[0]?.[0] : undefined
}

/** The nodes with texts behind a wire, for a sentence. */
function sourcesOf(kept: WorkflowGraph, [id, input]: Slot): string[] {
  const wire = wireAt(kept, id, input)
  const behind = [...ancestorsOf(kept, wire?.[0] ?? id)]
  const texts = behind.filter((it) =>
    Object.values(nodeAt(kept, it)?.inputs ?? {}).some((value) => typeof value === 'string'),
  )
  return texts.length > 0 ? texts : [id]
}

/** The text of a node that a person has pointed out. @throws WorkflowProblem */
function titledText(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  const encoder = textInputs(kept, id, side)
  const literals = Object.entries(nodeAt(kept, id)?.inputs ?? {})
    .filter(([, value]) => typeof value === 'string')
    .map(([name]): Slot => [id, name])
  const named = literals.filter(([, name]) => ['value', 'string', 'text', side].includes(name))
  const own = encoder.length > 0 ? encoder : named.length === 1 ? named : literals
  const held = own.map((slot) => heldText(kept, slot))
  if (own.length === 0 || (encoder.length === 0 && own.length > 1)) throw noText(kept, id, side)
  // An encoder with a title beside the node that holds its text, which has the title, too.
  const written = held.filter((it) => it !== undefined)
  if (written.length === held.length) return written
  const behind = own.flatMap((slot) => sourcesOf(kept, slot)).filter((it) => it !== id)
  const others = new Set(titled(kept, TITLE[side]))
  if (behind.some((it) => others.has(it))) return written
  throw noText(kept, id, side)
}

const noText = (kept: WorkflowGraph, id: string, side: Side) =>
  new WorkflowProblem(
    `${named(kept, id)} has the title "${TITLE[side]}", but not one text of its own: give that title to the node that holds the text, and export the workflow again.`,
  )

interface Start {
  readonly sampler: string
  readonly side: Side
  readonly wires: readonly Wire[]
}

/** Where other texts come in: at further samplers, and at a guider's second condition. */
function otherStarts(kept: WorkflowGraph, main: string, samplers: readonly string[]): Start[] {
  const guider = wireAt(kept, main, 'guider')?.[0]
  const second = guider === undefined ? undefined : wireAt(kept, guider, 'cond2')
  const further = samplers
    .filter((id) => id !== main)
    .flatMap((sampler) =>
      (['positive', 'negative'] as const).map((side) => ({ sampler, side, wires: startsOf(kept, sampler, side) })),
    )
  return second ? [{ sampler: main, side: 'positive', wires: [second] }, ...further] : further
}

/** Later passes repeat the texts (a refiner) or have their own (a detailer): those that are the same follow. */
function laterTexts(
  kept: WorkflowGraph,
  starts: readonly Start[],
  bound: Readonly<Record<Side, readonly Slot[]>>,
  encoders: readonly Slot[],
) {
  const later: Record<Side, Slot[]> = { positive: [], negative: [] }
  const known = new Set([...encoders, ...bound.positive, ...bound.negative].map(String))
  const notes = new Set<string>()
  for (const { sampler, side, wires } of starts)
    for (const slot of encodersOf(kept, wires, side).found) {
      if (known.has(String(slot))) continue
      const held = heldText(kept, slot)
      if (held && known.has(String(held))) continue
      const text = textAt(kept, bound[side])
      if (held && text !== undefined && inputOf(kept, ...held) === text) later[side].push(held)
      else notes.add(`The text of ${named(kept, slot[0])}, for ${named(kept, sampler)}, stays as it is in the file.`)
    }
  return { ...later, notes: [...notes] }
}
