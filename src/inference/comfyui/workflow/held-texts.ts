import { FILE } from './nested-files.js'
import { titled } from './node-titles.js'
import { isPlaceholder, valueInput } from './node-values.js'
import { OTHER_WIRES } from './sampler-nodes.js'
import {
  inputOf,
  named,
  namedAll,
  nodeAt,
  type Slot,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wireOf,
  wiresOf,
} from './workflow-graph.js'

export type Side = 'positive' | 'negative'
export const TITLE = { positive: 'prompt', negative: 'negative' } as const
export const CALLED = { positive: 'prompt', negative: 'negative prompt' } as const

/** The inputs of text encoders, many of which are called like the language model. Not `system_prompt`, which belongs to it. */
const TEXT_INPUT =
  /^(text(_[gl])?|prompt|user_prompt|positive_prompt|clip_[ghl]|(t5|mt5|byt5|bert|llama|qwen|gemma|mistral|jina)\w*)$/

/** The inputs that carry conditioning from node to node. */
export const CONDITIONING = /^(conditioning|cond)(_?\d+|_[a-z]+)?$|^(positive|negative)(_[a-z]+)?$/i

/** What nodes that join, replace or write texts call them; not what they put between them, or look for. */
const PART = /text|string|prompt|caption|prefix|suffix|value|positive|negative|^[a-z]\d?$/i

/** What a node chooses by a text: a file, or one of a list. A name of a model or a ratio would else be taken for the prompt. */
const CHOICE =
  /(^|[_. ])(names?|ratio|preset|resolution|dimensions?|mode|method|type|dtype|device|format|scheduler|sampler|model|ckpt|checkpoint|lora|vae|unet|clip|file|path|language|operation|delimiter|separator)(_?\d+)?$/i

const isChoice = (name: string, value: unknown): boolean =>
  CHOICE.test(name) || (typeof value === 'string' && FILE.test(value))

/** Numbers, and what tells a language model how to write: no part of a text comes from there. */
const NUMBER =
  /width|height|seed|steps|cfg|denoise|strength|guidance|shift|weight|batch|amount|length|count|index|scale|ratio|megapixels|multiple|temperature|top_[kp]|min|max|penalty|size|^(value_)?(int|float|bool|boolean|number|switch|enabled?)$/i

/** Whether a wire at that input may bring a text, or a part of one. */
export const carriesText = (input: string): boolean => !OTHER_WIRES.test(input) && !NUMBER.test(input)

/** It tells a language model what to do with the text that follows: no part of the prompt. */
const INSTRUCTION =
  /\[SYSTEM_PROMPT\]|<prompt start>|^\W*you are an? [^.,\n]*\b(assistant|expert|engineer|writer|designer|artist|agent|model|ai)\b/i

/** Whether a text that is replaced begins so: the model may need it before every prompt. */
export const isInstruction = (text: unknown): boolean => typeof text === 'string' && INSTRUCTION.test(text)

/** Where a text is written; `within` makes it of that text and of others, which stay. */
export interface Held {
  readonly slot: Slot
  readonly within?: string
}

/** Some nodes have both texts, each at an input of its own; all other texts of an encoder are the prompt's. */
export function textInputs(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  if (typeof inputOf(kept, id, side) === 'string') return [[id, side]]
  if (side === 'negative' && inputOf(kept, id, 'negative_prompt') !== undefined) return [[id, 'negative_prompt']]
  // A node that takes conditioning, such as a region's, may have a text for something else.
  if (wiresOf(kept, id).some(([name]) => CONDITIONING.test(name))) return []
  return ownTexts(kept, id)
}

const ownTexts = (kept: WorkflowGraph, id: string): Slot[] =>
  Object.entries(nodeAt(kept, id)?.inputs ?? {})
    .filter(([name, value]) => TEXT_INPUT.test(name) && (typeof value === 'string' || wireOf(value) !== undefined))
    .map(([name]) => [id, name])

/** The texts of a node that adds them to conditioning, such as that of a region. */
export const textsBeside = (kept: WorkflowGraph, id: string): Slot[] =>
  wiresOf(kept, id).some(([name]) => CONDITIONING.test(name)) ? ownTexts(kept, id) : []

/**
 * At the encoder, at the node that holds nothing else, or at the one part of a text that is no instruction; undefined
 * if there are several.
 */
export function heldText(kept: WorkflowGraph, [id, input]: Slot, side: Side): Held | undefined {
  const wire = wireAt(kept, id, input)
  if (!wire) return { slot: [id, input] }
  const own = valueInput(kept, wire[0]) ?? onlyText(kept, wire[0])
  const text = own === undefined ? undefined : inputOf(kept, wire[0], own)
  if (own !== undefined && typeof text === 'string' && !isChoice(own, text)) return { slot: [wire[0], own] }
  const [part, another] = partsBehind(kept, wire[0], side)
  // What asks a model may have one text and get the rest from there.
  const isOnly = part && another === undefined && !wiresOf(kept, part[0]).some(([name]) => OTHER_WIRES.test(name))
  return isOnly ? { slot: part, within: wire[0] } : undefined
}

/** The input of a node that is a text, where there is one and it takes no wires, which would make it a computation. */
function onlyText(kept: WorkflowGraph, id: string): string | undefined {
  if (wiresOf(kept, id).length > 0) return undefined
  const texts = Object.entries(nodeAt(kept, id)?.inputs ?? {}).filter(
    ([name, value]) => typeof value === 'string' && !isChoice(name, value),
  )
  return texts.length === 1 ? texts[0]?.[0] : undefined
}

/** Made once for each graph, by the side and the node: many encoders may get their text from one. */
const partsByNode = new WeakMap<WorkflowGraph, Map<string, readonly Slot[]>>()

/** The texts that a node makes its own of. */
function partsBehind(kept: WorkflowGraph, id: string, side: Side): readonly Slot[] {
  const known = partsByNode.get(kept) ?? new Map<string, readonly Slot[]>()
  partsByNode.set(kept, known)
  const key = `${side} ${id}`
  const parts = known.get(key) ?? findParts(kept, id, side)
  known.set(key, parts)
  return parts
}

function findParts(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  const open = [id]
  const seen = new Set<string>()
  const found: Slot[] = []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    found.push(...partsAt(kept, next, side))
    for (const [name] of wiresOf(kept, next)) {
      const wire = carriesText(name) && !isOf(OTHER[side], name) ? wireAt(kept, next, name) : undefined
      if (wire) open.push(wire[0])
    }
  }
  return found
}

const OTHER = { positive: 'negative', negative: 'positive' } as const
/** A styler has texts of both sides. */
const isOf = (side: Side, name: string) => name.toLowerCase().includes(side)

function partsAt(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  // An empty box may be the one that waits for the prompt.
  const says = (name: string, value: unknown) =>
    isOf(side, name) || value === '' || (/[\p{L}\p{N}]/u.test(String(value)) && !isPlaceholder(value))
  const isText = (name: string, value: unknown) =>
    typeof value === 'string' && !isOf(OTHER[side], name) && !/^system/i.test(name) && says(name, value)
  const own = onlyText(kept, id)
  const found = Object.entries(nodeAt(kept, id)?.inputs ?? {})
    .filter(([name, value]) => isText(name, value) && (name === own || (PART.test(name) && !isChoice(name, value))))
    .filter(([, value]) => !isInstruction(value))
  const [first, ...others] = found
  // A node with more boxes than anybody needs: the first is in use.
  const isSpare = first?.[1] !== '' && others.length > 1 && others.every(([, value]) => value === '')
  return (isSpare && first ? [first] : found).map(([name]) => [id, name])
}

/** Those whose text a title points out: the encoders among these nodes, and what holds one part of a text that they get. */
function holders(kept: WorkflowGraph, ids: readonly string[], side: Side): string[] {
  const parts = makersOf(kept, ids, side).flatMap((node) => partsBehind(kept, node, side).map(([it]) => it))
  const encoders = ids.filter((id) => textInputs(kept, id, side).some((slot) => heldText(kept, slot, side)))
  return [...new Set([...encoders, ...parts])].filter((id) => textsAt(kept, id, side).length > 0)
}

/** What makes the texts of these nodes; an encoder with a text of its own does. */
const makersOf = (kept: WorkflowGraph, ids: readonly string[], side: Side): string[] => {
  const sources = ids.flatMap((id) => {
    const encoder = textInputs(kept, id, side)
    return encoder.length > 0 ? encoder.map(([, input]) => wireAt(kept, id, input)?.[0] ?? id) : [id]
  })
  return [...new Set(sources)]
}

/** For a text that the nodes make of several. */
export function ambiguousText(kept: WorkflowGraph, main: string, side: Side, ids: readonly string[]): WorkflowProblem {
  const found = holders(kept, ids, side)
  const how =
    found.length > 0
      ? `give the node that holds the text, one of ${namedAll(kept, found)}, the title "${TITLE[side]}" in ComfyUI`
      : `put the text that is to be replaced into a node of its own, such as Text (Multiline), with the title "${TITLE[side]}", connect it to ${namedAll(kept, makersOf(kept, ids, side))}`
  return new WorkflowProblem(
    `The ${CALLED[side]} of ${named(kept, main)} is made of several parts: ${how}, and export the workflow again.`,
  )
}

/** The texts of a node that a title points out; none if it has no text, or several that are not one. */
function textsAt(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  const encoder = textInputs(kept, id, side)
  const held = encoder.map((slot) => heldText(kept, slot, side))
  if (encoder.length > 0) return held.every((it) => it !== undefined) ? held.map(({ slot }) => slot) : []
  const literals = Object.entries(nodeAt(kept, id)?.inputs ?? {}).filter(
    ([name, value]) => typeof value === 'string' && !isChoice(name, value),
  )
  const called = literals.filter(([name]) => ['value', 'string', 'text', side].includes(name))
  const parts = literals.filter(([name]) => PART.test(name) && !isOf(OTHER[side], name))
  const found = [called, literals, parts].find((those) => those.length === 1) ?? []
  return found.map(([name]) => [id, name])
}

/** The text of a node that a person has pointed out. @throws WorkflowProblem */
export function titledText(kept: WorkflowGraph, id: string, side: Side): Slot[] {
  const own = textsAt(kept, id, side)
  if (own.length > 0) return own
  const behind = holders(kept, [id], side).filter((it) => it !== id)
  // An encoder with a title beside the node that holds its text, which has the title, too.
  const others = new Set(titled(kept, TITLE[side]))
  if (behind.some((it) => others.has(it))) return []
  const how =
    behind.length > 0
      ? `give that title to the node that holds the text, one of ${namedAll(kept, behind)}`
      : 'put the text into a node of its own, such as Text (Multiline), give that one the title and connect it'
  throw new WorkflowProblem(
    `${named(kept, id)} has the title "${TITLE[side]}", but not one text of its own: ${how}, and export the workflow again.`,
  )
}

/** These nodes, and those that bring them their texts. */
export function textSources(kept: WorkflowGraph, ids: readonly string[] = []): ReadonlySet<string> {
  const found = new Set<string>()
  const open = [...ids]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    for (const [input, [from]] of wiresOf(kept, next)) if (carriesText(input)) open.push(from)
  }
  return found
}
