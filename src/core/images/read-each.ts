import { causesOf } from '../../lib/causes.js'
import { retryFor } from '../../lib/retry.js'

/** The store has this file and does not give it, whenever it is asked: it lies in cold storage, or on a broken part of a disk. */
export class FileUnreadable extends Error {
  /** As the system or the store names it. */
  readonly code: string

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Also within the error of a request, in which it is told as an outage. */
export const isUnreadable = (error: unknown): boolean =>
  causesOf(error).some(({ thrown }) => thrown instanceof FileUnreadable)

/** Tries for so long; what the store does not give is not asked for again. @throws the last error */
export async function readFor<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  let refused: { readonly error: unknown } | undefined
  const tried = () =>
    work().catch((error) => {
      if (!isUnreadable(error)) throw error
      refused = { error }
      return undefined
    })
  const done = await retryFor(tried, patienceMs)
  if (refused) throw refused.error
  return done as T
}

/** From then on it is not single files that fail. */
const FAILED_IN_A_ROW = 3

/**
 * Works on one file after the other, as a walk over many of them does: one that fails does not end it. Each is tried for so long; some in
 * a row mean that the store itself is away, and that ends the walk.
 * @param onFault told of each that failed
 * @returns what works on the next file, and resolves to undefined if that failed
 */
export function eachTried(patienceMs: number, onFault: (error: unknown) => void) {
  let inARow = 0
  return async <T>(work: () => Promise<T>): Promise<{ readonly done: T } | undefined> => {
    try {
      const done = await readFor(work, patienceMs)
      inARow = 0
      return { done }
    } catch (error) {
      if (!isUnreadable(error) && ++inARow >= FAILED_IN_A_ROW) throw error
      onFault(error)
      return undefined
    }
  }
}
