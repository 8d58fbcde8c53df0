import type { GpuTurn } from '../../src/core/generations/run/gpu-slot.js'
import type { BackendFaults } from '../../src/core/generations/run/run.js'

/** A GPU that nobody else uses. */
export const atOnce = (): GpuTurn => ({
  granted: Promise.resolve(),
  begun: () => undefined,
  waits: () => undefined,
  progressed: () => undefined,
  over: () => undefined,
})

/** A backend of which nothing bad is known. */
export const noFaults: BackendFaults = {
  isCulprit: () => false,
  sharedFault: () => undefined,
  lacksModel: () => false,
  failed: () => undefined,
  notStored: () => undefined,
}
