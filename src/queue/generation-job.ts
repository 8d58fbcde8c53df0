/** What both ends of the queue agree on. A job carries nothing: it rings, and the claim in Postgres picks the row. */

export const GENERATION_QUEUE = 'generations'

/** One delivery per attempt, so that a new attempt never collides with what is left of an older one. */
export const bellId = (generationId: string, attempt: number): string => `${generationId}-${attempt}`
