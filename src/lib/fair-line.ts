/** One who waits. */
interface Waiter {
  readonly begin: () => void
  readonly sendAway: () => void
}

/** Those who wait in one group; its own groups take turns. */
interface Group {
  waiting: number
  /** Whose turn is next comes first. None is empty. */
  readonly groups: Map<string, Group>
  /** Of the last groups, in the order in which they came. */
  readonly line: Waiter[]
}

const newGroup = (): Group => ({ waiting: 0, groups: new Map(), line: [] })

/** Runs the work when its turn has come. `path`: who asks, from the widest group to the narrowest. Rejects with what `full` makes. */
type TakeTurn = <Result>(path: readonly string[], work: () => Promise<Result>) => Promise<Result>

/**
 * A line for what can be done only so often at a time. The groups that wait take turns, within each its own groups, and so on: however
 * many come from one network, the others wait for one of them each. When the line is full, who comes from a group with fewer
 * in it takes the place of the last one of that with the most.
 * @param atOnce how many may be at work @param mostWaiting how many may wait besides
 * @param full what is thrown to those for whom there is no place
 */
export function fairLine(
  { atOnce, mostWaiting }: { readonly atOnce: number; readonly mostWaiting: number },
  full: () => Error,
): TakeTurn {
  const all = newGroup()
  let atWork = 0

  const add = (path: readonly string[], waiter: Waiter) => {
    let group = all
    all.waiting++
    for (const name of path) {
      const next = group.groups.get(name) ?? newGroup()
      group.groups.set(name, next)
      next.waiting++
      group = next
    }
    group.line.push(waiter)
  }

  /** Takes one out: the next whose turn it is, or the last one of the groups with the most. */
  const take = (
    group: Group,
    choose: (group: Group) => string | undefined,
    from: 'shift' | 'pop',
  ): Waiter | undefined => {
    group.waiting--
    const name = choose(group)
    const next = name === undefined ? undefined : group.groups.get(name)
    if (name === undefined || !next) return group.line[from]()
    const taken = take(next, choose, from)
    if (next.waiting === 0) group.groups.delete(name)
    else if (from === 'shift') {
      // To the end of the turns.
      group.groups.delete(name)
      group.groups.set(name, next)
    }
    return taken
  }

  /** Whether there is a place, for which somebody may have to go. */
  const makePlace = (path: readonly string[]): boolean => {
    if (all.waiting < mostWaiting) return true
    let group: Group | undefined = all
    for (const [depth, own] of path.entries()) {
      const [name, most] = (group && largest(group)) ?? []
      if (!group || name === undefined || !most) return false
      const mine: Group | undefined = group.groups.get(own)
      // With fewer, both would send each other away in turn.
      if (name !== own && (mine?.waiting ?? 0) + 1 < most.waiting) {
        sendAway([...path.slice(0, depth), name])
        return true
      }
      group = mine
    }
    return false
  }

  /** The last one of this group, and in it of the groups with the most. */
  const sendAway = (path: readonly string[]) => {
    const names = path.values()
    take(all, (group) => names.next().value ?? largest(group)?.[0], 'pop')?.sendAway()
  }

  const beginNext = () => {
    if (atWork >= atOnce || all.waiting === 0) return
    atWork++
    take(all, ({ groups }) => groups.keys().next().value, 'shift')?.begin()
  }

  return async (path, work) => {
    if (!makePlace(path)) throw full()
    await new Promise<void>((begin, refuse) => {
      add(path, { begin, sendAway: () => refuse(full()) })
      beginNext()
    })
    try {
      return await work()
    } finally {
      atWork--
      beginNext()
    }
  }
}

/** The group with the most who wait; of several, the one whose turn comes last. */
function largest({ groups }: Group): readonly [string, Group] | undefined {
  let found: readonly [string, Group] | undefined
  for (const entry of groups) if (!found || entry[1].waiting >= found[1].waiting) found = entry
  return found
}
