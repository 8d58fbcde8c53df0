import { type BellWorkerOptions, startBellWorker } from './bell-worker.js'
import { GENERATION_QUEUE } from './generation-job.js'

export type GenerationWorkerOptions = BellWorkerOptions

/** Hears what is rung for generations; one delivery at a time per backend. */
export const startGenerationWorker = (options: GenerationWorkerOptions) => startBellWorker(GENERATION_QUEUE, options)
