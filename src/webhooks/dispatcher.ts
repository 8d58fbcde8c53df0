import type { Log } from '../log.js'
import type { DeliveryStore, WebhookJobs, WebhookSender } from './ports.js'
import { endpointPause, FAILING, retryDelay } from './retry-schedule.js'
import type { ClaimedDelivery, SendOutcome } from './webhook.js'

interface DispatchPorts {
  readonly deliveries: DeliveryStore
  /** The JSON to send, or undefined if there is nothing left to send. */
  readonly payloadOf: (delivery: ClaimedDelivery) => Promise<string | undefined>
  readonly sender: WebhookSender
  readonly jobs: WebhookJobs
  readonly log: Log
}

const AT_ONCE = 32
/** So that one account with many dead endpoints leaves most of AT_ONCE to the others. */
const AT_ONCE_PER_ACCOUNT = 8
/** Notices and jobs can be lost, and processes die: a regular look finds what they leave. */
const LOOK_MS = 2000
const CLEAN_MS = 60_000

/** Sends what is due, many at once, each endpoint for itself. Any number of processes may do so side by side. */
export function webhookDispatcher({ deliveries, payloadOf, sender, jobs, log }: DispatchPorts) {
  const underWay = new Map<ClaimedDelivery, Promise<void>>()
  const leaving = new AbortController()
  let timers: NodeJS.Timeout[] = []
  let stopped = false
  let looking: Promise<void> | undefined
  /** `look` was called again: there may be deliveries that the last claim did not see. */
  let again = false

  const busyAccounts = (): string[] => {
    const counts = new Map<string, number>()
    for (const { accountId } of underWay.keys()) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= AT_ONCE_PER_ACCOUNT).map(([accountId]) => accountId)
  }

  const record = async (delivery: ClaimedDelivery, outcome: SendOutcome): Promise<void> => {
    const { endpointId, endpointFailures, attempts } = delivery
    if (outcome.delivered) {
      await deliveries.delivered(delivery, outcome.status)
      if (endpointFailures >= FAILING) await deliveries.hurry(endpointId)
      return
    }
    const { fault, status, retryAfterSeconds } = outcome
    const final = fault === 'picture_removed' || fault === 'endpoint_gone'
    const retryInSeconds = final ? undefined : retryDelay(attempts, retryAfterSeconds)
    const pauseSeconds = endpointPause(endpointFailures + 1, retryAfterSeconds)
    const { disabled } = await deliveries.failed(delivery, { fault, status, retryInSeconds, pauseSeconds })
    if (disabled) {
      await deliveries.endWaiting(endpointId)
      log.warn({ endpointId, fault }, 'webhook endpoint disabled')
    } else if (retryInSeconds === undefined) log.warn({ endpointId, fault, attempts }, 'webhook delivery given up')
    else await jobs.enqueue(delivery, retryInSeconds * 1000)
  }

  /** If anything fails here, the claim runs out and the delivery is claimed again. */
  const deliver = async (delivery: ClaimedDelivery): Promise<void> => {
    try {
      const body = await payloadOf(delivery)
      const outcome: SendOutcome =
        body === undefined
          ? { delivered: false, fault: 'picture_removed' }
          : await sender.send(delivery, body, leaving.signal)
      await record(delivery, outcome)
    } catch (err) {
      if (leaving.signal.aborted) await deliveries.giveBack(delivery).catch(() => undefined)
      else log.warn({ err }, 'a delivery could not be made or recorded')
    }
  }

  const claimAll = async (): Promise<void> => {
    try {
      while (again && !stopped) {
        again = false
        while (underWay.size < AT_ONCE && !stopped) {
          const delivery = await deliveries.claim(busyAccounts())
          if (!delivery) break
          const sent = deliver(delivery).finally(() => {
            underWay.delete(delivery)
            if (!stopped) void look()
          })
          underWay.set(delivery, sent)
        }
      }
    } catch (err) {
      again = false
      log.warn({ err }, 'webhooks wait')
    }
  }

  /** Begins to send what is due; resolves when that has begun. Never rejects. */
  const look = (): Promise<void> => {
    again = true
    looking ??= claimAll().finally(() => {
      looking = undefined
      if (again && !stopped) void look()
    })
    return looking
  }

  return {
    look,

    /** Looks from now on, whether or not `look` is called. */
    start(): void {
      const clean = () => deliveries.clean().catch((err) => log.warn({ err }, 'old deliveries are kept'))
      timers = [setInterval(() => void look(), LOOK_MS), setInterval(() => void clean(), CLEAN_MS)]
      void look()
    },

    /** Starts nothing more; sends that are under way may end within this time, then they are given back. */
    async stop(withinMs: number): Promise<void> {
      stopped = true
      for (const timer of timers) clearInterval(timer)
      await looking
      const late = setTimeout(() => leaving.abort(), withinMs)
      await Promise.all(underWay.values())
      clearTimeout(late)
    },
  }
}
