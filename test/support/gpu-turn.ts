import type { GpuTurn } from '../../src/generation/gpu-turn.js'

/** A GPU that nobody else uses. */
export const atOnce = (): GpuTurn => ({
  comes: Promise.resolve(),
  begun: () => undefined,
  progressed: () => undefined,
  over: () => undefined,
})
