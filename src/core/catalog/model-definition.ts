/**
 * How GPU servers draw a model version where the name of a checkpoint does not say enough: with a ComfyUI workflow, or
 * with a checkpoint and options. An update makes a new revision, and no revision ever changes, so what is running ends
 * as it began.
 */
export interface ModelDefinition {
  /** Name and revision, `flux-dev@3`: what model versions and generations have instead of a checkpoint's file name. */
  readonly filename: string
  /** SHA-256 of the document, in lower-case hex. */
  readonly hash: string
  /** JSON, which only the adapters read that draw with it. */
  readonly document: string
}

const REVISION = /@\d+$/

/** Whether a file name is a definition's. */
export const isDefinition = (filename: string): boolean => REVISION.test(filename)

/** `flux-dev` of `flux-dev@3`; another file name as it is. */
export const withoutRevision = (filename: string): string => filename.replace(REVISION, '')

export interface DefinitionStore {
  /**
   * Those of enabled model versions, of generations that have not ended, and of imports that ask about them, a second old
   * at most. While Postgres cannot be asked, as they were last. Never fails.
   */
  needed(): Promise<readonly ModelDefinition[]>
}
