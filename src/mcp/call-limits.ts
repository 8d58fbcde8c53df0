import type { FastifyReply, FastifyRequest } from 'fastify'
import { tooManyStreams } from '../core/errors.js'
import { createFairSlots } from '../http/shared/fair-slots.js'

/** An account has one generation at a time, so more calls than one wait for the same one. */
const MAX_PER_ACCOUNT = 8

/** By how much a cancellation may overtake its call. */
const OVERTAKES_MS = 10_000

/** The calls that wait for a generation on this server. */
export function runningCalls() {
  const byName = new Map<string, AbortController>()
  /** A cancellation may overtake its call. */
  const canceledBefore = new Set<string>()
  const perAccount = new Map<string, number>()

  const count = (accountId: string, by: 1 | -1) => {
    const calls = (perAccount.get(accountId) ?? 0) + by
    if (calls > 0) perAccount.set(accountId, calls)
    else perAccount.delete(accountId)
  }

  return {
    /**
     * @param name by which it may be canceled
     * @throws too_many_streams, before anything is done
     */
    async during<T>(
      accountId: string,
      name: string | undefined,
      work: (canceled: AbortSignal) => Promise<T>,
    ): Promise<T> {
      if ((perAccount.get(accountId) ?? 0) >= MAX_PER_ACCOUNT) throw tooManyStreams(MAX_PER_ACCOUNT)
      const call = new AbortController()
      const ownName = `${accountId} ${name}`
      count(accountId, 1)
      if (name !== undefined) byName.set(ownName, call)
      if (canceledBefore.has(ownName)) call.abort()
      try {
        return await work(call.signal)
      } finally {
        count(accountId, -1)
        // A repeat of the same request has taken its place.
        if (byName.get(ownName) === call) byName.delete(ownName)
      }
    },

    /** False: no such call runs here; one that comes within seconds is canceled, too. */
    cancel(accountId: string, name: string): boolean {
      const ownName = `${accountId} ${name}`
      const call = byName.get(ownName)
      call?.abort()
      if (call) return true
      canceledBefore.add(ownName)
      setTimeout(() => canceledBefore.delete(ownName), OVERTAKES_MS).unref()
      return false
    },
  }
}

/** While images are read and scaled: a PNG and its pixels, some 20 MB. */
const WORK = { total: 4, perHolder: 2, patienceMs: 0 }
/** Until the client has read its answer: the images in base64, copied a few times while they are sent, some 4 MB. */
const ANSWERS = { total: 24, perHolder: 4, patienceMs: 0 }
const MAX_WAITING = 500
/** A client that reads more slowly than this is cut off, or a few such could keep images from all others. */
const READ_WITHIN_MS = 60_000

/** Bounds what answers with images take of this process's memory, whoever asks; accounts take turns. */
export function imageAnswerLimit() {
  const work = createFairSlots(WORK)
  const answers = createFairSlots(ANSWERS)
  let waiting = 0

  const takeBoth = async (accountId: string, patience: number) => {
    const begun = performance.now()
    const ofAnswer = answers.take(accountId) ?? (await answers.wait(accountId, patience))
    const left = patience - (performance.now() - begun)
    const ofWork = ofAnswer && (work.take(accountId) ?? (await work.wait(accountId, left)))
    if (!ofWork) ofAnswer?.()
    return ofAnswer && ofWork && { ofAnswer, ofWork }
  }

  return {
    /**
     * Resolves when the answer may read its images; call the result when they are read and scaled.
     * @param patience how many ms to wait for that
     * @returns undefined when it may not
     */
    async admit(accountId: string, { raw: { socket } }: FastifyRequest, { raw }: FastifyReply, patience: number) {
      if (waiting >= MAX_WAITING) return undefined
      waiting++
      const slots = await takeBoth(accountId, patience)
      waiting--
      if (!slots) return undefined
      const cut = setTimeout(() => socket.destroy(), READ_WITHIN_MS).unref()
      const end = () => {
        clearTimeout(cut)
        socket.off('close', end)
        slots.ofAnswer()
      }
      // The calls of one request share its answer: more listeners than usual are no leak.
      raw.setMaxListeners(0)
      raw.once('close', end)
      // Node emits no "close" on an answer that waits behind another one.
      socket.once('close', end)
      if (!raw.destroyed && !socket.destroyed) return slots.ofWork
      slots.ofWork()
      end()
      return undefined
    },
  }
}
