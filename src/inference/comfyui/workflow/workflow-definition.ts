/** A workflow as a model version's definition: made at import, read by workers. */
import type { ModelDefinition } from '../../../core/catalog/model-definition.js'
import type { MadeWith } from '../../../core/generations/run/backend.js'
import type { BoundWorkflow } from './bind-workflow.js'
import type { Workflow } from './fill-workflow.js'
import { inputOf, only } from './workflow-graph.js'

/** A model's workflow, as it is stored. */
export interface WorkflowDocument extends Workflow {
  readonly kind: 'workflow'
  /** The image's size divided by the one that is asked for. */
  readonly scale: number
  /** The file's own, for images that are drawn with it. */
  readonly drawnWith: Pick<MadeWith, 'sampler' | 'scheduler'>
}

/** @param scale where the workflow does not say it by itself */
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

const documents = new WeakMap<ModelDefinition, WorkflowDocument | undefined>()

/** The workflow of a definition; undefined where it is of another kind. */
export function workflowOf(definition: ModelDefinition): WorkflowDocument | undefined {
  if (!documents.has(definition)) {
    const document = JSON.parse(definition.document) as { kind: string }
    documents.set(definition, document.kind === 'workflow' ? (document as WorkflowDocument) : undefined)
  }
  return documents.get(definition)
}
