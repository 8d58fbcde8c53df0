/** Lets a process die at any of the effects that it has on the world, and perhaps turn out to have been asleep only. */

/** `before`: the effect never happens. `after`: it happens, and nobody learns of it. */
export type Way = 'before' | 'after'

export interface Death {
  /** As `Mortal.effects` names it: `lock.acquire#1` is the first call of `lock.acquire`. */
  readonly effect: string
  readonly way: Way
}

export interface Mortal<T> {
  /** The same ports, whose every call is an effect; from its death on none happens and none is answered. */
  readonly ports: T
  /** All that has happened, in order. */
  readonly effects: readonly string[]
  readonly isDead: boolean
  /** Resolves when it has died and what was under way by then has happened. */
  readonly died: Promise<void>
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  /** It was only asleep: every call that was held back is made now, every answer that was held back arrives. */
  wake(): void
}

/** Told, never waited for: a crash beside it is one beside its neighbour. */
const NO_EFFECT = new Set(['log', 'ends', 'watch'])

/**
 * Wraps ports generically, to any depth, so that a new port or method is covered by itself. Everything that is called
 * must answer with a promise or an async iterable.
 */
export function mortal<T extends object>(ports: T, death?: Death): Mortal<T> {
  const effects: string[] = []
  const calls = new Map<string, number>()
  const underWay = new Map<Promise<unknown>, string>()
  /** Of a dead process: each keeps an image from being stored, which asks by it first. */
  let heartbeatsHeldBack = 0
  let asleep = false
  let isDead = false
  let wake: (() => void) | undefined
  const woken = new Promise<void>((resolve) => {
    wake = resolve
  })
  let fallen: (() => void) | undefined
  const died = new Promise<void>((resolve) => {
    fallen = resolve
  }).then(() => settled())

  const settled = async () => {
    const isBusy = () => {
      const puts = [...underWay.values()].filter((name) => name === 'images.put').length
      return underWay.size - Math.min(puts, heartbeatsHeldBack) > 0
    }
    while (isBusy()) await new Promise((resolve) => setTimeout(resolve, 2))
    // What follows from it comes in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
  }

  const die = () => {
    asleep = isDead = true
    fallen?.()
  }

  /** Makes the call when the process wakes up; a promise and an async iterable in one, as nobody knows yet which. */
  const heldBack = (name: string, perform: () => unknown) =>
    Object.assign(
      woken.then(() => perform()),
      {
        async *[Symbol.asyncIterator]() {
          await woken
          yield* perform() as AsyncIterable<unknown>
        },
        name,
      },
    )

  const effect = (name: string, perform: () => unknown): unknown => {
    if (asleep) {
      if (name === 'runs.heartbeat') heartbeatsHeldBack++
      return heldBack(name, perform)
    }
    const nth = (calls.get(name) ?? 0) + 1
    calls.set(name, nth)
    const label = `${name}#${nth}`
    const fatal = death?.effect === label && !isDead
    if (fatal && death.way === 'before') {
      die()
      return heldBack(name, perform)
    }
    const answer = perform()
    if (isAsyncIterable(answer)) return stepwise(name, answer)
    if (!isPromise(answer)) throw new Error(`${name} answers at once: say in mortal.ts whether it has an effect`)
    effects.push(label)
    const answered = async <V>(settle: () => V) => {
      if (fatal) die()
      if (asleep) await woken
      return settle()
    }
    const happened = Promise.resolve(answer)
    underWay.set(happened, name)
    return happened
      .finally(() => underWay.delete(happened))
      .then(
        (value) => answered(() => value),
        (error) =>
          answered(() => {
            throw error
          }),
      )
  }

  /** Each step of an iteration is an effect of its own. */
  const stepwise = (name: string, iterable: AsyncIterable<unknown>): AsyncIterable<unknown> => ({
    [Symbol.asyncIterator]() {
      const iterator = iterable[Symbol.asyncIterator]()
      return {
        next: () => effect(`${name}.next`, () => iterator.next()) as Promise<IteratorResult<unknown>>,
        return: async () => (await iterator.return?.()) ?? { done: true as const, value: undefined },
      }
    },
  })

  const wrap = <O extends object>(its: O, path: string): O =>
    new Proxy(its, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key)
        if (typeof key === 'symbol' || NO_EFFECT.has(key)) return value
        const name = path === '' ? key : `${path}.${key}`
        if (typeof value === 'function') {
          return (...args: unknown[]) => effect(name, () => Reflect.apply(value, target, args))
        }
        return typeof value === 'object' && value !== null ? wrap(value, name) : value
      },
    })

  return {
    ports: wrap(ports, ''),
    effects,
    get isDead() {
      return isDead
    },
    died,
    settled,
    wake() {
      asleep = false
      wake?.()
    },
  }
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value
const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value
