import type { GpuTurn } from '../../src/generation/run/gpu-turn.js'
import type { Experience } from '../../src/generation/run/run.js'

/** A GPU that nobody else uses. */
export const atOnce = (): GpuTurn => ({
  granted: Promise.resolve(),
  begun: () => undefined,
  waits: () => undefined,
  progressed: () => undefined,
  over: () => undefined,
})

/** A backend of which nothing bad is known. */
export const noExperience: Experience = {
  isCulprit: () => false,
  sharedFault: () => undefined,
  lacksModel: () => false,
  failed: () => undefined,
  notStored: () => undefined,
}
