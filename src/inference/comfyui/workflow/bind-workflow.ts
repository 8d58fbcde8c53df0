import type { Sampler } from '../../../core/generations/generation.js'
import { bindOutput } from './bind-output.js'
import { bindCfg, bindSampler, bindSeed, bindSteps, type Fixed, partsOf } from './bind-samplers.js'
import { bindSize, scaleOf } from './bind-size.js'
import { bindTexts } from './bind-texts.js'
import { idleTitles } from './node-titles.js'
import { type NumberLimits, ownLimits } from './number-limits.js'
import {
  checkImageTitles,
  checkKept,
  checkKnown,
  checkUnbound,
  checkWiring,
  type Needs,
  needsOf,
} from './requirements.js'
import { resolveSwitches } from './resolve-switches.js'
import { samplersIn } from './sampler-nodes.js'
import { tagReaders } from './tag-readers.js'
import { ancestorsOf, named, nodeAt, only, type Slot, type Wire, type WorkflowGraph } from './workflow-graph.js'

/** Where in a workflow each parameter is written. */
export interface Binding {
  readonly prompt: Slot[]
  readonly negative: Slot[]
  readonly width: Slot[]
  readonly height: Slot[]
  readonly seed: Slot[]
  readonly steps: Slot[]
  readonly cfg: Slot[]
  readonly sampler: Slot[]
  readonly scheduler: Slot[]
  /** Always 1: each image has a copy of the graph. */
  readonly batch: Slot[]
  /** Where the parts of a chain of samplers begin and end: scaled by the asked steps / the file's. */
  readonly stepBounds: Slot[]
  /** Sizes of later passes: scaled by the asked size / the file's, to multiples of 8. */
  readonly scaledWidth: Slot[]
  readonly scaledHeight: Slot[]
  /** The IMAGE that is saved. */
  readonly output: Wire
  /** The nodes whose progress counts. */
  readonly samplers: string[]
  /** The image's size divided by the asked one; undefined if the graph does not say it. */
  readonly scale: number | undefined
  /** What the output needs: only these nodes are sent. */
  readonly keep: string[]
}

export interface BoundWorkflow {
  /** The file's, without the switches that it sets. */
  readonly graph: WorkflowGraph
  readonly binding: Binding
  /** From the file. `sampler` only if its sampler and scheduler are a pair that Easel names. */
  readonly defaults: {
    readonly width: number
    readonly height: number
    readonly steps?: number
    readonly cfgScale?: number
    readonly sampler?: Sampler
    readonly negativePrompt?: string
    readonly prompt?: string
  }
  /** The server rounds widths and heights that are no multiples of it. */
  readonly sizeMultiple: number
  /** Of the numbers that are written, what ComfyUI's own nodes take. */
  readonly limits: NumberLimits
  /** Easel's parameters that have no effect, each with the reason. */
  readonly fixed: Fixed[]
  readonly needs: Needs
  /** What a person should know of how it was read. */
  readonly notes: string[]
}

export interface BindOptions {
  /** Classes that Easel does not know to only draw, or that load a fixed image, and that are trusted all the same. */
  readonly allowNodes?: readonly string[]
  /** What `/object_info` calls an output node, where a server is known. */
  readonly outputClasses?: ReadonlySet<string>
}

/**
 * Finds what each parameter is called in a workflow. Nothing is guessed: what is ambiguous is refused.
 * @throws WorkflowProblem
 */
export function bindWorkflow(file: WorkflowGraph, { allowNodes = [], outputClasses }: BindOptions = {}): BoundWorkflow {
  const { graph, settersOf } = resolveSwitches(file)
  const { output, leftOut } = bindOutput(graph, outputClasses)
  const keep = ancestorsOf(graph, output[0])
  const kept = only(graph, keep)
  checkWiring(graph, kept)
  const { main, samplers, notes: samplerNotes } = samplersIn(kept, output[0])
  const allowed = new Set(allowNodes)
  checkKept(kept, allowed)
  checkImageTitles(kept)
  const cfg = bindCfg(kept, main, samplers)
  const texts = bindTexts(kept, main, { samplers, parts: partsOf(kept, main, samplers), guided: cfg.guided })
  const size = bindSize(kept, main, samplers)
  const seed = bindSeed(kept, main, samplers)
  const steps = bindSteps(kept, main, samplers)
  const sampler = bindSampler(kept, main, samplers)
  const binding: Binding = {
    ...{ prompt: texts.prompt, negative: texts.negative, width: size.width, height: size.height, batch: size.batch },
    ...{ seed: seed.slots, steps: steps.slots, stepBounds: steps.bounds, cfg: cfg.slots },
    ...{ sampler: sampler.sampler, scheduler: sampler.scheduler },
    ...{ scaledWidth: size.scaledWidth, scaledHeight: size.scaledHeight },
    ...{ output, samplers, scale: scaleOf(kept, { main, samplers, output: output[0] }, size.file), keep: [...keep] },
  }
  checkUnbound(kept, [...slotsOf(binding), ...texts.idle])
  checkKnown(kept, allowed)
  return {
    graph,
    binding,
    defaults: {
      ...size.file,
      ...(steps.value !== undefined && { steps: steps.value }),
      ...(cfg.value !== undefined && { cfgScale: cfg.value }),
      ...(sampler.value !== undefined && { sampler: sampler.value }),
      ...(texts.negativeText !== undefined && { negativePrompt: texts.negativeText }),
      ...(texts.promptText !== undefined && { prompt: texts.promptText }),
    },
    fixed: fixedOf({ cfg, steps, sampler, hasNegative: texts.negative.length > 0 }),
    needs: needsOf(kept),
    sizeMultiple: size.multiple,
    limits: ownLimits(kept, binding),
    notes: [
      ...leftOut.map((id) => `${named(graph, id)} is left out, because it saves another image.`),
      ...[...idleTitles(graph, kept), ...samplerNotes, ...texts.notes, ...size.notes, ...seed.notes],
      ...[...steps.notes, ...cfg.notes],
      ...tagReaders(kept, [...texts.prompt, ...texts.negative]).map(
        (id) =>
          `${named(kept, id)} may take parts of a text for orders, such as <lora:name:1> or __name__: what is asked for is written so that it stays text.`,
      ),
      ...seeThrough(kept).map(
        (id) =>
          `${named(kept, id)} may make parts of the image transparent: in the images of Easel these parts are white.`,
      ),
      ...settersOf(output[0]).map(
        (id) => `${named(graph, id)} stays as it is in the file: what it turns off is left out.`,
      ),
      ...laterPasses(kept, main, samplers, [...steps.slots, ...steps.bounds]),
    ],
  }
}

/** What makes an image with an alpha channel, unless something after it has taken that away or laid it on another image. */
const seeThrough = (kept: WorkflowGraph): string[] => {
  const nameOf = (id: string) => nodeAt(kept, id)?.class_type ?? ''
  const isFlattened = Object.keys(kept).some((id) => /RemoveAlpha|SplitImageWithAlpha|Composite/i.test(nameOf(id)))
  return isFlattened
    ? []
    : Object.keys(kept).filter(
        (id) =>
          /WithAlpha|RGBA|Transparen|Remove ?Background|Rembg|RMBG|BiRefNet/i.test(nameOf(id)) &&
          !/load|session/i.test(nameOf(id)),
      )
}

/** All inputs that are written. */
export const slotsOf = (binding: Omit<Binding, 'scale'>): Slot[] => [
  ...[...binding.prompt, ...binding.negative, ...binding.width, ...binding.height, ...binding.seed, ...binding.steps],
  ...[...binding.cfg, ...binding.sampler, ...binding.scheduler, ...binding.batch, ...binding.stepBounds],
  ...[...binding.scaledWidth, ...binding.scaledHeight],
]

interface Bound {
  readonly cfg: { readonly fixed?: string; readonly guided: boolean }
  readonly steps: { readonly fixed?: string }
  readonly sampler: { readonly value: unknown; readonly fixed?: string }
  readonly hasNegative: boolean
}

function fixedOf({ cfg, steps, sampler, hasNegative }: Bound): Fixed[] {
  const fixed: Fixed[] = []
  const noNegative = cfg.guided ? 'no text reaches the negative side of the sampler' : cfg.fixed
  if (!hasNegative) fixed.push({ parameter: 'negative_prompt', why: `negative_prompt has no effect: ${noNegative}.` })
  if (cfg.fixed !== undefined) fixed.push({ parameter: 'cfg_scale', why: `cfg_scale has no effect: ${cfg.fixed}.` })
  if (steps.fixed !== undefined) fixed.push({ parameter: 'steps', why: `steps has no effect: ${steps.fixed}.` })
  if (sampler.fixed !== undefined) fixed.push({ parameter: 'sampler', why: `sampler has no effect: ${sampler.fixed}.` })
  return fixed
}

const laterPasses = (kept: WorkflowGraph, main: string, samplers: readonly string[], steps: readonly Slot[]) =>
  samplers
    .filter((id) => id !== main && !steps.some(([node]) => node === id))
    .map((id) => `The steps, cfg and sampler of ${named(kept, id)} stay as they are in the file.`)
