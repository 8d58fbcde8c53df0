/**
 * How long until the next moment at which everything of this process that is done every `everyMs` is done, so that what is
 * done at once can share a statement. At least a quarter of that time, so that nothing is done twice at a moment.
 */
export function untilSharedMoment(everyMs: number, now = performance.now()): number {
  return Math.ceil((now + everyMs / 4) / everyMs) * everyMs - now
}
