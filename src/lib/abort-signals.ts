/**
 * Instead of AbortSignal.any and AbortSignal.timeout: what `any` ties to a signal that lives for long stays with it (Node
 * 20 and 22), and in Node 20 the garbage collector may take the timer of a `timeout` within it before it has fired.
 */
import { setMaxListeners } from 'node:events'

/** Where nothing may abort the work but its time limit. */
export const NEVER_ABORTED = new AbortController().signal

/** A signal that aborts with the first of others. `clear` lets go of the others; call it when the work has ended. */
export function linkedSignal(others: readonly AbortSignal[]) {
  setMaxListeners(0, ...others) // any number may follow one
  const controller = new AbortController()
  const follow = (event: Event) => controller.abort((event.target as AbortSignal).reason)
  for (const other of others) {
    other.addEventListener('abort', follow, { once: true })
    if (other.aborted) controller.abort(other.reason)
  }
  return {
    signal: controller.signal,
    clear: () => {
      for (const other of others) other.removeEventListener('abort', follow)
    },
  }
}

/** Resolves when the signal aborts. Until then a listener stays with it: not for signals that outlive many calls. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** A signal that aborts with the outer one or at its own time limit; `isOver`: whether the limit ended it. */
export function timeLimit(outer: AbortSignal, ms: number) {
  const limit = new AbortController()
  let over = false
  const timer = setTimeout(() => {
    over = !outer.aborted
    limit.abort(new DOMException(`Not done within ${ms} ms`, 'TimeoutError'))
  }, ms)
  const { signal, clear } = linkedSignal([outer, limit.signal])
  return {
    signal,
    isOver: () => over,
    clear: () => {
      clearTimeout(timer)
      clear()
    },
  }
}

/** What runs until it is done or its signal aborts. */
export type Work<T> = (limited: AbortSignal) => Promise<T>

/** Runs `work` with a time limit. If that ends it, it fails with `late`'s error. */
export async function withTimeLimit<T>(signal: AbortSignal, ms: number, work: Work<T>, late?: () => Error): Promise<T> {
  const limit = timeLimit(signal, ms)
  try {
    return await work(limit.signal)
  } catch (error) {
    throw late && limit.isOver() ? late() : error
  } finally {
    limit.clear()
  }
}

/** A signal that aborts some time after `stop` has: for the last requests to a server. */
export function windUp(stop: AbortSignal, graceMs: number) {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => controller.abort(stop.reason), graceMs)
  }
  if (stop.aborted) begin()
  else stop.addEventListener('abort', begin, { once: true })
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer)
      stop.removeEventListener('abort', begin)
    },
  }
}

/** Resolves to the result, or to undefined after this time. */
export async function resolvedWithin<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
