import type { Lane } from './generation.js'

/**
 * The queue has two lanes, each first come, first served. Create Image goes ahead of the Personal API, but after three
 * Create Image starts in a row the next start is the Personal API's, if it has one waiting. The claim applies this rule
 * (db/generations/claim.ts); here it gives each generation's position.
 */
export const CREATE_IMAGE_RUN = 3

export interface QueueDepths {
  /** Create Image starts since the last personal one, 0 to 3. */
  readonly streak: number
  readonly waiting: Readonly<Record<Lane, number>>
}

/** The 1-based position over both lanes. @param rank the 1-based position within the generation's own lane */
export function queuePosition(lane: Lane, rank: number, { streak, waiting }: QueueDepths): number {
  // Before the personal lane's n-th start at most 3 n Create Image starts fit, less those already made in this run.
  if (lane === 'personal') return rank + Math.min(waiting.create_image, CREATE_IMAGE_RUN * rank - streak)
  // Before the Create Image lane's n-th start a personal one has come after each full run of three.
  return rank + Math.min(waiting.personal, Math.floor((streak + rank - 1) / CREATE_IMAGE_RUN))
}
