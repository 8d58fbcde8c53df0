/** ComfyUI workflows that operators bring. */
import type { ModelVersion } from '../catalog/model-version.js'
import type { Acting } from './acting.js'
import type { CatalogStores } from './catalog.js'
import type { ImportAnswer } from './imported-versions.js'

/** A ComfyUI workflow, as an operator brings it. */
export interface BroughtWorkflow {
  /** The text of a file that ComfyUI has exported. */
  readonly source: string
  /** Node classes that Easel does not know to only draw, and that the operator trusts. */
  readonly allowNodes: readonly string[]
  /** An image's size divided by the one that is asked for, where the workflow does not say it. */
  readonly scale: number | undefined
}

/** How a workflow is read, in words. */
export interface WorkflowReport {
  /** Of each parameter, where in the workflow it is written. */
  readonly places: readonly { readonly parameter: string; readonly place: string }[]
  /** Defaults, what has no effect and why, what a GPU server must have, and notes; none of them is empty. */
  readonly sections: readonly { readonly title: string; readonly lines: readonly string[] }[]
}

/** A version that draws with a workflow. */
export interface WorkflowVersion
  extends BroughtWorkflow,
    Pick<ModelVersion, 'id' | 'name' | 'modelName' | 'baseModel' | 'nsfw' | 'creditsPerImage'> {
  /** Whether it may replace what is drawn now although no backend that is up can draw it. */
  readonly isMeant: boolean
  /** The version with this ID as it is now, which gets another workflow; undefined: the ID must be free. */
  readonly existing: ModelVersion | undefined
}

/** Each throws invalid_request with one sentence that says what to change. */
export interface WorkflowModels {
  /** Also of a workflow that is read and that an import refuses, such as one whose size is too large, and says why. */
  check(workflow: BroughtWorkflow): Promise<WorkflowReport>
  /** Records the act with it. Asks the backends that are up whether they can draw it, which takes seconds. */
  import(version: WorkflowVersion, acting: Acting<CatalogStores>): Promise<ImportAnswer>
}
