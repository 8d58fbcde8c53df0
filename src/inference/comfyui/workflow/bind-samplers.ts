import type { Sampler } from '../../../core/generations/generation.js'
import { samplersOf } from '../../samplers.js'
import { contradicted } from './node-titles.js'
import { isPlaceholder, numberAt, numberOf, settle, titledNumber } from './node-values.js'
import { settingOf, titledSetting } from './sampler-nodes.js'
import {
  ancestorsOf,
  feeds,
  inputOf,
  named,
  type Slot,
  shown,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
} from './workflow-graph.js'

export interface Fixed {
  readonly parameter: 'negative_prompt' | 'cfg_scale' | 'sampler' | 'steps'
  readonly why: string
}

interface Setting {
  readonly slots: Slot[]
  readonly value?: number | undefined
  readonly fixed?: string
  readonly notes: readonly string[]
}

/**
 * Every sampler's seed, but of those that add no noise: they go on with another's. A title settles where the seed of a
 * sampler is held; it takes no sampler's seed away.
 */
export function bindSeed(kept: WorkflowGraph, main: string, samplers: readonly string[]) {
  const asked = titledNumber(kept, 'seed', ['seed', 'noise_seed'], 'seed')
  const own = samplers.map((id) => seedOf(kept, id)).filter((it) => it !== undefined)
  const wired = own.flatMap((slot) => {
    const titled = asked.filter(([id]) => feeds(kept, id, slot))
    return titled.length > 0 ? titled : [slot]
  })
  const others = asked.filter(([id]) => !own.some((slot) => feeds(kept, id, slot)))
  // What else draws lots, such as a wildcard, may get the seed, too.
  const besides = others.filter(([, input]) => own.length === 0 || /seed/i.test(input))
  const settled = [...wired, ...besides].map((slot) => settle(kept, slot))
  if (settled.length === 0)
    throw new WorkflowProblem(
      'The workflow has no seed, so all images would be the same: give the node that holds it the title "seed" in ComfyUI and export it again.',
    )
  const notes = others.map((slot) =>
    besides.includes(slot)
      ? `${named(kept, slot[0])} gets the seed, too, as its title says.`
      : contradicted(kept, slot[0], 'seed', main),
  )
  return {
    slots: unique(settled.flatMap(({ slots }) => slots)),
    notes: [...overwritten(kept, 'seed', settled), ...(own.length === 0 ? [] : notes)],
  }
}

function seedOf(kept: WorkflowGraph, id: string): Slot | undefined {
  if (addsNoNoise(kept, id)) return undefined
  return settingOf(kept, id, ['noise_seed', 'seed'], 'noise')
}

const addsNoNoise = (kept: WorkflowGraph, id: string) => {
  const value = inputOf(kept, id, 'add_noise')
  return value === 'disable' || value === false
}

/** The passes that go on with the main sampler's noise, from a step on: one image's steps, divided. */
const isPart = (kept: WorkflowGraph, id: string) => inputOf(kept, id, 'start_at_step') !== undefined

export const partsOf = (kept: WorkflowGraph, main: string, samplers: readonly string[]) =>
  isPart(kept, main) ? samplers.filter((id) => id !== main && isPart(kept, id) && addsNoNoise(kept, id)) : []

/** The steps, and where the parts of a chain begin and end. */
export function bindSteps(
  kept: WorkflowGraph,
  main: string,
  samplers: readonly string[],
): Setting & { bounds: Slot[] } {
  const { slot: own, notes } = titledSetting(kept, main, { role: 'steps', inputs: ['steps'], from: 'sigmas' })
  const none = (fixed: string) => ({ slots: [], bounds: [], fixed, notes })
  if (!own) return none(`${named(kept, main)} takes its steps from a list of its own`)
  const { slots, value, computedBy } = settle(kept, own)
  // Without the file's number there is no default, and Easel's would spoil a distilled model.
  if (computedBy !== undefined) return none(`${named(kept, computedBy)} computes the steps`)
  const steps = numberOf(value)
  const parts = partsOf(kept, main, samplers)
  const other = parts.find((id) => inputOf(kept, id, 'steps') === undefined || numberAt(kept, id, 'steps') !== steps)
  if (other !== undefined) return none(`${named(kept, other)} goes on with another number of steps`)
  const found = [main, ...parts].flatMap((id) => boundsOf(kept, id, steps))
  const split = splitsOf(kept, main, steps)
  if (steps === undefined && [...found, ...split].length > 0) return none(`${named(kept, main)} divides its steps`)
  if (found.includes(undefined)) return none(`${named(kept, main)} has a first or last step that is computed`)
  const all = [...slots, ...parts.flatMap((id) => settle(kept, [id, 'steps']).slots)]
  const bounds = unique([...found, ...split].filter((it) => it !== undefined))
  return { slots: unique(all), value: steps, bounds, notes }
}

/** The bounds that lie within the steps: one at or beyond the end means "to the end". Undefined: computed. */
function boundsOf(kept: WorkflowGraph, id: string, steps: number | undefined): (Slot | undefined)[] {
  return ['start_at_step', 'end_at_step'].flatMap((input): readonly (Slot | undefined)[] => {
    if (inputOf(kept, id, input) === undefined) return []
    const { slots, value, computedBy } = settle(kept, [id, input])
    const bound = numberOf(value)
    if (computedBy !== undefined || bound === undefined) return [undefined]
    return bound > 0 && bound < (steps ?? Number.POSITIVE_INFINITY) ? slots : []
  })
}

/** SplitSigmas divides a sampler's steps, too, by the number of the step. */
function splitsOf(kept: WorkflowGraph, main: string, steps: number | undefined): Slot[] {
  const wire = wireAt(kept, main, 'sigmas')
  if (!wire) return []
  return [...ancestorsOf(kept, wire[0])]
    .filter((id) => /^SplitSigmas$/.test(kept[id]?.class_type ?? '') && wireAt(kept, id, 'sigmas'))
    .filter((id) => (numberAt(kept, id, 'step') ?? 0) < (steps ?? Number.POSITIVE_INFINITY))
    .flatMap((id) => settle(kept, [id, 'step']).slots)
}

/** The scale of the guidance; exactly 1, or a guider without one, draws without guidance. */
export function bindCfg(kept: WorkflowGraph, main: string, samplers: readonly string[]): Setting & { guided: boolean } {
  const its = titledSetting(kept, main, { role: 'cfg', inputs: ['cfg', 'cfg_conds'], from: 'guider' })
  const hasNone = !its.slot || numberAt(kept, ...its.slot) === 1
  // Where the sampler has none, a title may say what takes its place, such as the guidance of Flux.
  const [stand, another] = hasNone
    ? titledNumber(kept, 'cfg', ['cfg'], 'cfg').filter(([id]) => id !== main && ancestorsOf(kept, main).has(id))
    : []
  const isStandIn = stand !== undefined && another === undefined
  const own = isStandIn ? stand : its.slot
  const notes = isStandIn ? [] : its.notes
  const none = (fixed: string, guided: boolean) => ({ slots: [], fixed, guided, notes })
  if (!own) return none(`${named(kept, main)} draws without such a scale`, true)
  const { slots, value, computedBy } = settle(kept, own)
  if (computedBy !== undefined) return none(`${named(kept, computedBy)} computes it`, true)
  const cfg = numberOf(value)
  if (cfg === 1) return none(`${named(kept, own[0])} has a cfg of 1, which means no guidance`, false)
  const parts = partsOf(kept, main, samplers).filter((id) => cfg !== undefined && numberAt(kept, id, 'cfg') === cfg)
  return {
    slots: unique([...slots, ...parts.flatMap((id) => settle(kept, [id, 'cfg']).slots)]),
    value: cfg,
    guided: true,
    notes,
  }
}

/** Sampler and scheduler together, if the file's own pair is one that Easel names. */
export function bindSampler(kept: WorkflowGraph, main: string, samplers: readonly string[]) {
  const none = (fixed: string) => ({ sampler: [] as Slot[], scheduler: [] as Slot[], value: undefined, fixed })
  const name = settingOf(kept, main, ['sampler_name'], 'sampler')
  const schedule = settingOf(kept, main, ['scheduler'], 'sigmas')
  if (!name) return none(`${named(kept, main)} has no sampler_name`)
  if (!schedule) return none(`${named(kept, main)} has no scheduler to choose`)
  const pair = [settle(kept, name, 'text'), settle(kept, schedule, 'text')] as const
  const computed = pair.find(({ computedBy }) => computedBy !== undefined)?.computedBy
  if (computed !== undefined) return none(`${named(kept, computed)} chooses it`)
  const [nameValue, scheduleValue] = pair.map(({ value }) => value)
  const free = pair.some(({ value }) => isPlaceholder(value))
  const ours = samplerCalled(nameValue, scheduleValue)
  if (!ours && !free)
    return none(`${shown(String(nameValue))} with ${shown(String(scheduleValue))} is none of Easel's samplers`)
  // The parts of a chain must agree on the noise that each step leaves.
  const parts = partsOf(kept, main, samplers)
  const other = parts.find(
    (id) => inputOf(kept, id, 'sampler_name') !== nameValue || inputOf(kept, id, 'scheduler') !== scheduleValue,
  )
  if (other !== undefined) return none(`${named(kept, other)} goes on with another one`)
  return {
    sampler: unique([...pair[0].slots, ...parts.map((id): Slot => [id, 'sampler_name'])]),
    scheduler: unique([...pair[1].slots, ...parts.map((id): Slot => [id, 'scheduler'])]),
    value: ours,
  }
}

function samplerCalled(name: unknown, schedule: unknown): Sampler | undefined {
  for (const [sampler, it] of samplersOf('comfyui')) if (it.name === name && it.schedule === schedule) return sampler
  return undefined
}

export const unique = (slots: readonly Slot[]): Slot[] => [
  ...new Map(slots.map((slot) => [JSON.stringify(slot), slot])).values(),
]

export const overwritten = (
  kept: WorkflowGraph,
  what: string,
  settled: readonly { readonly computedBy?: string | undefined }[],
): string[] =>
  [...new Set(settled.flatMap(({ computedBy }) => computedBy ?? []))].map(
    (id) => `The ${what} that ${named(kept, id)} computes is replaced by the one that is asked for.`,
  )
