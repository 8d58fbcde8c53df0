import type { ZodType } from 'zod'

/** What any request can meet. */
const ALWAYS = [401, 429, 500, 503] as const

/**
 * How an interface describes its refusals.
 * @param problem the schema of their body
 * @param everywhere what its every endpoint can answer, beside what any request can meet
 * @returns the schemas of those and of the refusals with the given statuses
 */
export const refusalsWith =
  <P extends ZodType, const E extends number = never>(problem: P, ...everywhere: E[]) =>
  <const S extends number>(...statuses: S[]) =>
    Object.fromEntries([...statuses, ...everywhere, ...ALWAYS].map((status) => [status, problem])) as Record<
      S | E | (typeof ALWAYS)[number],
      P
    >
