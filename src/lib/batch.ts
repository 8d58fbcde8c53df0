import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Joins concurrent loads of single values into one of many: `dataloader` without its cache, and in a few lines.
 * @param load resolves to the values in the order of the keys. A value may be a promise, which settles for its key alone;
 * if `load` itself rejects, all of the batch do
 * @param collected resolves when a batch is complete: unless given, when the event loop has read its sockets
 */
export function batched<Key, Value>(
  load: (keys: readonly Key[]) => Promise<readonly (Value | Promise<Value>)[]>,
  collected: () => Promise<unknown> = nextTurn,
): (key: Key) => Promise<Value> {
  let keys: Key[] = []
  let values: ReturnType<typeof load>
  const loadCollected = () => {
    const all = keys
    keys = []
    return load(all)
  }
  return async (key) => {
    const index = keys.push(key) - 1
    if (index === 0) values = collected().then(loadCollected)
    return (await values)[index] as Value | Promise<Value>
  }
}

/** Joins concurrent calls into one, whose result all of them get. */
export function joined<Item, Result>(
  act: (items: readonly Item[]) => Promise<Result>,
  collected?: () => Promise<unknown>,
): (item: Item) => Promise<Result> {
  return batched(async (items) => Array<Result>(items.length).fill(await act(items)), collected)
}

/** Like `batched`, for each group on its own, with one load of a group at a time: what comes meanwhile makes the next. */
export function batchedInTurn<Key, Value>(
  groupOf: (key: Key) => string,
  load: (keys: readonly Key[]) => Promise<readonly (Value | Promise<Value>)[]>,
): (key: Key) => Promise<Value> {
  const groups = new Map<string, { asked: number; readonly get: (key: Key) => Promise<Value> }>()
  const openGroup = () => {
    let last: Promise<unknown> = nextTurn()
    const loadNext: typeof load = (keys) => {
      const values = load(keys)
      last = values.catch(() => undefined)
      return values
    }
    return { asked: 0, get: batched(loadNext, () => last) }
  }
  return async (key) => {
    const name = groupOf(key)
    const group = groups.get(name) ?? openGroup()
    groups.set(name, group)
    group.asked++
    try {
      return await group.get(key)
    } finally {
      if (--group.asked === 0) groups.delete(name)
    }
  }
}

/** Joins concurrent loads of one value. */
export function singleFlight<Value>(load: () => Promise<Value>): () => Promise<Value> {
  const get = joined(() => load())
  return () => get(undefined)
}

interface SnapshotOptions {
  /** ms that a value is used without another look; may depend on how long the look took, in ms too. */
  readonly freshMs: number | ((tookMs: number) => number)
  /** ms that it is used meanwhile once it is no longer fresh and the next look has begun. Default: not at all. */
  readonly usableMs?: number
}

/**
 * The latest value of `take`, which runs only while there are callers, one call at a time. Whoever waits for a call gets
 * its error; no error is kept.
 */
export function snapshot<T>(take: () => Promise<T>, { freshMs, usableMs = 0 }: SnapshotOptions): () => Promise<T> {
  let latest: { readonly value: T; readonly freshUntil: number; readonly usableUntil: number } | undefined
  let taking: Promise<T> | undefined
  const takeNext = async () => {
    const begun = performance.now()
    const value = await take()
    const now = performance.now()
    const freshUntil = now + (typeof freshMs === 'number' ? freshMs : freshMs(now - begun))
    latest = { value, freshUntil, usableUntil: Math.max(freshUntil, now + usableMs) }
    return value
  }
  return async () => {
    const now = performance.now()
    if (latest && now <= latest.freshUntil) return latest.value
    taking ??= takeNext().finally(() => {
      taking = undefined
    })
    if (!latest || now > latest.usableUntil) return taking
    taking.catch(() => undefined)
    return latest.value
  }
}
