import type { Account } from '../../account/account.js'
import { AppError, generationActive } from '../../errors.js'
import type { DurationEstimates } from '../follow-ports.js'
import { etaSeconds } from './eta.js'
import { type PollPorts, pollGeneration } from './poll.js'

export type TimeLeftPorts = PollPorts & { readonly estimates: DurationEstimates }

/** A client that came back later would wait for nothing if the end came sooner than expected. */
const LONGEST_SECONDS = 60

/** Lets a refusal for an active generation say when that one is expected to have ended, as far as this is known. */
export async function sayWhenFree<T>(ports: TimeLeftPorts, account: Account, submit: Promise<T>): Promise<T> {
  try {
    return await submit
  } catch (error) {
    const id = error instanceof AppError && error.code === 'active_generation' ? error.detail.generationId : undefined
    const seconds = id && (await secondsLeft(ports, account, id).catch(() => undefined))
    throw id && seconds ? generationActive(id, Math.min(seconds, LONGEST_SECONDS)) : error
  }
}

const secondsLeft = async (ports: TimeLeftPorts, account: Account, id: string): Promise<number | undefined> =>
  etaSeconds(ports.estimates, await pollGeneration(ports, account, id))
