/** What is done every so many milliseconds, by that number. */
const groups = new Map<number, { readonly acts: Set<() => void>; readonly timer: NodeJS.Timeout }>()

/**
 * Acts every `everyMs`, at the same moments as all of this process that act as often: what they do may share a statement.
 * The first moment comes within `everyMs`.
 * @returns stops it
 */
export function atSharedMoments(everyMs: number, act: () => void): () => void {
  const group = groups.get(everyMs) ?? beginGroup(everyMs)
  group.acts.add(act)
  return () => {
    if (!group.acts.delete(act) || group.acts.size > 0) return
    clearInterval(group.timer)
    groups.delete(everyMs)
  }
}

function beginGroup(everyMs: number) {
  const acts = new Set<() => void>()
  const timer = setInterval(() => {
    for (const act of acts) act()
  }, everyMs)
  const group = { acts, timer }
  groups.set(everyMs, group)
  return group
}

/** How long until the next moment that is a multiple of `everyMs` for all of this process; at least a quarter of that. */
export function untilSharedMoment(everyMs: number, now = performance.now()): number {
  return Math.ceil((now + everyMs / 4) / everyMs) * everyMs - now
}
