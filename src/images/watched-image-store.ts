import { type ImageStore, ImageTooLarge, type StoreLacks } from '../core/images/ports.js'
import type { Log } from '../core/log.js'
import { messageOf } from '../lib/causes.js'

export interface StoreWatch {
  /** What is wrong with the store, as a sentence for the operator: found by the last check, or by a put since. */
  problem(): string | undefined
  /** Checks the store now, and again until images can be stored; logs the first fault. Returns its end. */
  untilUsable(): () => void
}

const AGAIN_MS = 30_000

/** A store that remembers what is wrong with it, and logs what it lacks. Checks at the same time are one. */
export function watchedImageStore<Store extends ImageStore>(store: Store, log: Log): Store & StoreWatch {
  let fault: string | undefined
  let lacks: StoreLacks = {}
  let checking: Promise<StoreLacks> | undefined

  const failed = (error: unknown): never => {
    fault = messageOf(error)
    throw error
  }

  const tell = (found: StoreLacks) => {
    if (found.problem && found.problem !== lacks.problem) log.error({}, found.problem)
    if (found.missing && found.missing !== lacks.missing) log.warn({}, found.missing)
    lacks = found
    fault = undefined
    return found
  }

  const check = () => {
    checking ??= store
      .check()
      .then(tell, failed)
      .finally(() => {
        checking = undefined
      })
    return checking
  }

  return {
    ...store,
    async put(slug, png, options) {
      const stored = await store.put(slug, png, options).catch((error) => {
        if (error instanceof ImageTooLarge || options?.signal?.aborted) throw error
        return failed(error)
      })
      if (stored) fault = undefined
      return stored
    },
    check,
    untilUsable() {
      let timer: NodeJS.Timeout | undefined
      let ended = false
      const look = (isFirst: boolean) =>
        check().catch((err) => {
          if (isFirst) log.error({ err }, 'images can not be stored yet')
          if (!ended) timer = setTimeout(look, AGAIN_MS, false).unref()
        })
      void look(true)
      return () => {
        ended = true
        clearTimeout(timer)
      }
    },
    problem: () => fault ?? lacks.problem,
  }
}
