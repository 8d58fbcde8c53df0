/** A workflow as a model version's definition: made at import, read by workers. */
import type { ModelDefinition } from '../../../core/catalog/model-definition.js'
import type { IgnorableParameter, ModelParameters } from '../../../core/catalog/model-parameters.js'
import { SIZE_STEP } from '../../../core/generations/generation.js'
import type { MadeWith } from '../../../core/generations/run/backend.js'
import { camelCase } from '../../../lib/names.js'
import { documentOf } from '../../definition-document.js'
import { type BindOptions, type BoundWorkflow, bindWorkflow } from './bind-workflow.js'
import type { Workflow } from './fill-workflow.js'
import { readWorkflow } from './read-workflow.js'
import { inputOf, only, WorkflowProblem } from './workflow-graph.js'

/** A model's workflow, as it is stored. */
export interface WorkflowDocument extends Workflow {
  readonly kind: 'workflow'
  /** The image's size divided by the one that is asked for. */
  readonly scale: number
  /** The file's own, for images that are drawn with it. */
  readonly drawnWith: Pick<MadeWith, 'sampler' | 'scheduler'>
}

/** What a model version gets from its workflow. */
export interface WorkflowModel {
  /** For `ModelDefinition.document`. */
  readonly document: string
  /** Without what the workflow does not say, or Easel cannot. */
  readonly parameters: ModelParameters
  /** How it was read. */
  readonly bound: BoundWorkflow
}

/**
 * A workflow in ComfyUI's API format as a model.
 * @param scale the image's size divided by the one that is asked for, where the workflow does not say it
 * @throws WorkflowProblem
 */
export function modelOfWorkflow(
  source: string,
  { scale, ...options }: BindOptions & { readonly scale?: number | undefined } = {},
): WorkflowModel {
  const bound = bindWorkflow(readWorkflow(source), options)
  const its = scale ?? bound.binding.scale
  if (its === undefined)
    throw new WorkflowProblem(
      'The workflow does not say how large its image is: add "scale", the image\'s width divided by the one that is asked for, such as 2.',
    )
  const { prompt: _, ...defaults } = bound.defaults
  const ignored = bound.fixed.map(({ parameter }) => camelCase(parameter) as IgnorableParameter)
  return {
    document: JSON.stringify(workflowDocument(bound, its)),
    parameters: {
      defaults: {
        ...Object.fromEntries(ignored.flatMap((name) => (name in UNCHOSEN ? [[name, UNCHOSEN[name]]] : []))),
        ...defaults,
      },
      ...(Object.keys(bound.limits).length > 0 && { limits: bound.limits }),
      ...(ignored.length > 0 && { ignored }),
      ...(bound.sizeMultiple > SIZE_STEP && { sizeMultiple: bound.sizeMultiple }),
      ...(its !== 1 && { scale: its }),
    },
    bound,
  }
}

/** What is shown for a parameter that the workflow does not say: no guidance, and a sampler that all servers have. */
const UNCHOSEN: Partial<Record<IgnorableParameter, unknown>> = { cfgScale: 1, sampler: 'euler' }

/** @param scale of the image */
export function workflowDocument({ graph, binding, defaults }: BoundWorkflow, scale: number): WorkflowDocument {
  const { scale: _, ...slots } = binding
  const { width, height, steps } = defaults
  const kept = only(graph, new Set(binding.keep))
  const own = (input: string) =>
    binding.keep.map((id) => inputOf(kept, id, input)).find((value): value is string => typeof value === 'string')
  return {
    kind: 'workflow',
    graph: kept,
    binding: slots,
    defaults: { width, height, ...(steps !== undefined && { steps }) },
    scale,
    drawnWith: { sampler: own('sampler_name') ?? 'unknown', scheduler: own('scheduler') ?? null },
  }
}

/** The workflow of a definition; undefined where it is of another kind. */
export function workflowOf(definition: ModelDefinition): WorkflowDocument | undefined {
  const document = documentOf(definition)
  return document.kind === 'workflow' ? (document as WorkflowDocument) : undefined
}
