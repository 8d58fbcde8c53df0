import { unique } from './bind-samplers.js'
import {
  ambiguousText,
  CALLED,
  CONDITIONING,
  type Held,
  heldText,
  isInstruction,
  type Side,
  TITLE,
  textInputs,
  textSources,
  textsBeside,
  titledText,
} from './held-texts.js'
import { contradicted, titled } from './node-titles.js'
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
  wiresOf,
} from './workflow-graph.js'

/** Where the two texts of a sampler are encoded, or the inputs of a loader that has both. */
interface Encoders {
  readonly found: readonly Slot[]
  /** Something else than text on the way. */
  readonly unknown: readonly string[]
  /** Texts that are added on the way. */
  readonly beside: readonly Slot[]
}

const NO_TEXT: Encoders = { found: [], unknown: [], beside: [] }

/**
 * The inputs that get the prompt and the negative prompt. `guided`: without guidance the negative side has no effect, and
 * its texts are `idle`.
 * @throws WorkflowProblem
 */
export function bindTexts(
  kept: WorkflowGraph,
  main: string,
  { samplers, parts, guided }: { samplers: readonly string[]; parts: readonly string[]; guided: boolean },
) {
  const positive = encodersOf(kept, startsOf(kept, main, 'positive'), 'positive')
  const avoidable = encodersOf(kept, startsOf(kept, main, 'negative'), 'negative')
  const negative = guided ? avoidable : NO_TEXT
  const reached = { positive: reachedBy(kept, positive), negative: reachedBy(kept, avoidable) }
  const titles = {
    positive: titlesOf(kept, 'positive', { main, samplers, reached, isOpen: reached.positive.size === 0 }),
    negative: titlesOf(kept, 'negative', { main, samplers, reached, isOpen: !guided || reached.negative.size === 0 }),
  }
  const [asked, without] = [
    textsOf(kept, main, 'positive', positive, titles.positive),
    textsOf(kept, main, 'negative', negative, titles.negative),
  ]
  const [prompt, avoided] = [asked, without].map((texts) => unique(texts.map(({ slot }) => slot))) as [Slot[], Slot[]]
  if (prompt.length === 0)
    throw new WorkflowProblem(
      `No text reaches ${named(kept, main)}: give the node that holds the prompt the title "prompt" in ComfyUI and export the workflow again.`,
    )
  checkInstructions(kept, 'positive', prompt)
  checkInstructions(kept, 'negative', avoided)
  const keys = new Set(prompt.map(String))
  if (avoided.some((slot) => keys.has(String(slot))))
    throw new WorkflowProblem(
      `The prompt and the negative prompt of ${named(kept, main)} come from one text, ${namedAll(kept, [...new Set(prompt.map(([id]) => id))])}: give the nodes that hold the two texts the titles "prompt" and "negative" in ComfyUI, or connect a text of its own to negative, and export the workflow again.`,
    )
  const later = otherTexts(
    kept,
    main,
    startsIn(kept, main, samplers, guided),
    { positive: prompt, negative: avoided },
    parts,
  )
  return {
    prompt: unique([...prompt, ...later.positive]),
    negative: unique([...avoided, ...later.negative]),
    notes: [...new Set([...asked, ...without].flatMap(({ within }) => within ?? []))]
      .map(
        (id) =>
          `${named(kept, id)} makes its text of the one that is asked for and of what stays as it is in the file.`,
      )
      .concat(titles.positive.notes, titles.negative.notes, later.notes),
    idle: guided ? [] : avoidable.found,
    promptText: textAt(kept, prompt),
    negativeText: textAt(kept, avoided),
  }
}

/** What the model may need before each prompt would be lost with the file's own. @throws WorkflowProblem */
function checkInstructions(kept: WorkflowGraph, side: Side, slots: readonly Slot[]): void {
  const [id] = slots.find((slot) => isInstruction(inputOf(kept, ...slot))) ?? []
  if (id !== undefined && titled(kept, TITLE[side]).length === 0)
    throw new WorkflowProblem(
      `${named(kept, id)} has an instruction to the model in its text, which would be replaced: join it to the text from a node of its own, or give ${named(kept, id)} the title "${TITLE[side]}" in ComfyUI if that is right, and export the workflow again.`,
    )
}

const textAt = (kept: WorkflowGraph, slots: readonly Slot[]): string | undefined => {
  const texts = slots.map(([id, input]) => inputOf(kept, id, input)).filter((it) => typeof it === 'string')
  return texts.find((it) => it !== '') ?? texts[0]
}

// Each costs a walk over what its text is made of. The largest public workflow has some 20.
const MAX_ENCODERS = 200

/** Follows conditioning up to the text encoders. @throws WorkflowProblem for too many */
function encodersOf(kept: WorkflowGraph, starts: readonly Wire[], side: Side): Encoders {
  const open = [...starts]
  const seen = new Set<string>()
  const found: Slot[] = []
  const unknown: string[] = []
  const beside: Slot[] = []
  for (let next = open.pop(); next; next = open.pop()) {
    const [id, output] = next
    if (seen.has(String(next)) || !nodeAt(kept, id)) continue
    seen.add(String(next))
    // Zeroed out, whatever its text is: no text.
    if (/ZeroOut/i.test(nodeAt(kept, id)?.class_type ?? '')) continue
    const here = textInputs(kept, id, side)
    const wires = conditioningWires(kept, id, side, output)
    beside.push(...textsBeside(kept, id))
    if (here.length > 0) found.push(...here)
    else if (wires.length > 0) open.push(...wires)
    else unknown.push(id)
    if (found.length + beside.length > MAX_ENCODERS)
      throw new WorkflowProblem(
        `The ${CALLED[side]} of the workflow comes from more than ${MAX_ENCODERS} texts: join some of them, and export the workflow again.`,
      )
  }
  return { found: unique(found), unknown, beside }
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

/** At a node with both sides, the output tells the side: 0 is positive, 1 negative; of a pipe it is the side asked for. */
function conditioningWires(kept: WorkflowGraph, id: string, side: Side, output: number): Wire[] {
  const wires = wiresOf(kept, id)
  const sides = {
    positive: wires.filter(([name]) => /^positive/.test(name)),
    negative: wires.filter(([name]) => /^negative/.test(name)),
  }
  const hasBoth = sides.positive.length > 0 && sides.negative.length > 0
  const sideHere = output === 0 && !isPipe(kept, id) ? 'positive' : output === 1 ? 'negative' : side
  const chosen = (hasBoth ? sides[sideHere] : wires).filter(([name]) => CONDITIONING.test(name))
  const followed = chosen.length > 0 ? chosen : wires.length === 1 && isSwitch(kept, id) ? wires : []
  return followed.flatMap(([name]) => {
    const wire = wireAt(kept, id, name)
    return wire ? [wire] : []
  })
}

const isPipe = (kept: WorkflowGraph, id: string) => /pipe/i.test(nodeAt(kept, id)?.class_type ?? '')
const isSwitch = (kept: WorkflowGraph, id: string) => /reroute|switch/i.test(nodeAt(kept, id)?.class_type ?? '')

/** All nodes of which the texts are made. */
const reachedBy = (kept: WorkflowGraph, { found, unknown, beside }: Encoders): ReadonlySet<string> =>
  textSources(kept, [...[...found, ...beside].map(([id]) => id), ...unknown])

interface Titled {
  /** Nodes with the side's title behind that side of the main sampler. */
  readonly own: readonly string[]
  /** The same of other passes. */
  readonly others: readonly string[]
  /** Name the titles that the wires contradict. */
  readonly notes: readonly string[]
}

/** Where the wires tell of no text that has an effect (`isOpen`), a title may be on what the sampler needs for neither side. @throws WorkflowProblem */
function titlesOf(
  kept: WorkflowGraph,
  side: Side,
  at: { main: string; samplers: readonly string[]; reached: Record<Side, ReadonlySet<string>>; isOpen: boolean },
): Titled {
  const { main, samplers, reached, isOpen } = at
  const asked = titled(kept, TITLE[side])
  if (asked.length === 0) return { own: [], others: [], notes: [] }
  const needed = ancestorsOf(kept, main)
  const isOwn = (id: string) =>
    isOpen ? needed.has(id) && !reached.positive.has(id) && !reached.negative.has(id) : reached[side].has(id)
  const passes = samplers
    .filter((id) => id !== main)
    .map((id) => reachedBy(kept, encodersOf(kept, startsOf(kept, id, side), side)))
  const own = asked.filter(isOwn)
  const others = asked.filter((id) => !isOwn(id) && passes.some((nodes) => nodes.has(id)))
  const idle = asked.filter((id) => !own.includes(id) && !others.includes(id))
  // A title at what has no text is refused, as that of a number is.
  for (const id of idle) titledText(kept, id, side)
  return { own, others, notes: idle.map((id) => contradicted(kept, id, TITLE[side], main)) }
}

/** The texts of the main sampler on one side: those with the title; else the encoder's. @throws WorkflowProblem */
function textsOf(
  kept: WorkflowGraph,
  main: string,
  side: Side,
  { found, unknown }: Encoders,
  { own, others }: Titled,
): readonly Held[] {
  const asked = [...own, ...others].flatMap((id) => titledText(kept, id, side))
  const titledTexts = unique(asked).map((slot) => ({ slot }))
  if (own.length > 0) return titledTexts
  const nodes = [...new Set(found.map(([id]) => id))]
  const texts = found.map((slot) => heldText(kept, slot, side))
  const differ = new Set(texts.map((held) => JSON.stringify(held && inputOf(kept, ...held.slot)))).size > 1
  if ((nodes.length > 1 && differ) || unknown.length > 0 || texts.includes(undefined))
    throw ambiguousText(kept, main, side, [...nodes, ...unknown])
  return [...texts.filter((it) => it !== undefined), ...titledTexts]
}

interface Start {
  readonly sampler: string
  readonly side: Side
  readonly wires: readonly Wire[]
}

/** Where texts with an effect come in: at all samplers, and at a guider's second condition. */
function startsIn(kept: WorkflowGraph, main: string, samplers: readonly string[], guided: boolean): Start[] {
  const guider = wireAt(kept, main, 'guider')?.[0]
  const second = guider === undefined ? undefined : wireAt(kept, guider, 'cond2')
  const all = samplers.flatMap((sampler) =>
    (['positive', 'negative'] as const)
      .filter((side) => side === 'positive' || sampler !== main || guided)
      .map((side) => ({ sampler, side, wires: startsOf(kept, sampler, side) })),
  )
  return second ? [{ sampler: main, side: 'positive', wires: [second] }, ...all] : all
}

/**
 * Later passes repeat the texts or have their own (a detailer): those that are the same follow. So does every text of a
 * pass that goes on with the same image (a refiner), unless a title says which text is meant.
 */
function otherTexts(
  kept: WorkflowGraph,
  main: string,
  starts: readonly Start[],
  bound: Readonly<Record<Side, readonly Slot[]>>,
  parts: readonly string[],
) {
  const later: Record<Side, Slot[]> = { positive: [], negative: [] }
  const known = new Set([...bound.positive, ...bound.negative].map(String))
  const notes = new Set<string>()
  for (const { sampler, side, wires } of starts) {
    const { found, beside } = encodersOf(kept, wires, side)
    for (const slot of [...found, ...beside]) {
      const held = heldText(kept, slot, side)?.slot
      if (held && known.has(String(held))) continue
      // Made of what is written, as a title says.
      const sources = textSources(kept, wireAt(kept, ...slot)?.slice(0, 1) as string[] | undefined)
      if (bound[side].some(([id]) => sources.has(id))) continue
      const text = textAt(kept, bound[side])
      const isSame = held !== undefined && text !== undefined && inputOf(kept, ...held) === text
      const goesOn = parts.includes(sampler) && text !== undefined && titled(kept, TITLE[side]).length === 0
      if (held && (isSame || goesOn)) later[side].push(held)
      const of = `${named(kept, slot[0])}, for ${named(kept, sampler)},`
      if (held && goesOn && !isSame)
        notes.add(`The text of ${of} is replaced, too, because that one goes on with the same image.`)
      else if (!isSame) {
        if (found.includes(slot) && side === 'positive' && isPass(kept, main, sampler))
          checkSecondText(kept, slot, sampler, bound.positive)
        notes.add(`The text of ${of} stays as it is in the file.`)
      }
    }
  }
  return { ...later, notes: [...notes] }
}

/** Goes over the whole image, unlike a detailer, which takes an image and draws parts of it. */
const isPass = (kept: WorkflowGraph, main: string, sampler: string): boolean =>
  sampler !== main && ['latent_image', 'latent', 'samples'].some((input) => wireAt(kept, sampler, input) !== undefined)

/** A pass over the whole image with the file's text would draw that. @throws WorkflowProblem unless a title settles it */
function checkSecondText(kept: WorkflowGraph, [id, input]: Slot, sampler: string, prompt: readonly Slot[]): void {
  const text = inputOf(kept, id, input)
  if (titled(kept, 'prompt').length > 0 || (typeof text === 'string' && text.trim() === '')) return
  const first = namedAll(kept, [...new Set(prompt.map(([node]) => node))])
  throw new WorkflowProblem(
    `${named(kept, sampler)} goes over the image with another text, of ${named(kept, id)}: give ${first} the title "prompt" in ComfyUI if the other text is to stay, or both if both are to get the prompt, and export the workflow again.`,
  )
}
