import { dueWork } from '../../lib/due-work.js'
import type { Log } from '../log.js'
import type { DeliveryStore, WebhookJobs, WebhookSender } from './ports.js'
import type { ClaimedDelivery, SendOutcome } from './webhook.js'
import { endpointPause, FAILING, retryDelay } from './webhook.js'

interface DispatchPorts {
  readonly deliveries: DeliveryStore
  /** The JSON to send, or undefined if there is nothing left to send. */
  readonly payloadOf: (delivery: ClaimedDelivery) => Promise<string | undefined>
  readonly sender: WebhookSender
  readonly jobs: WebhookJobs
  readonly log: Log
}

const MAX_SENDS = 32
/** So that one account with many dead endpoints leaves most of MAX_SENDS to the others. */
const MAX_SENDS_PER_ACCOUNT = 8
/** Notices and jobs can be lost, and processes die: a regular poll finds what they leave. */
const DUE_POLL_MS = 2000
const CLEAN_MS = 60_000

/** Sends due deliveries concurrently, each endpoint independently of the others, in any number of processes. */
export function webhookDispatcher({ deliveries, payloadOf, sender, jobs, log }: DispatchPorts) {
  const leaving = new AbortController()
  let timers: NodeJS.Timeout[] = []

  const record = async (delivery: ClaimedDelivery, outcome: SendOutcome): Promise<void> => {
    const { endpointId, endpointFailures, attempts } = delivery
    if (outcome.delivered) {
      await deliveries.delivered(delivery, outcome.status)
      if (endpointFailures >= FAILING) await deliveries.retryNow(endpointId)
      return
    }
    const { fault, status, retryAfterSeconds } = outcome
    const final = fault === 'picture_removed' || fault === 'endpoint_gone'
    const retryInSeconds = final ? undefined : retryDelay(attempts, retryAfterSeconds)
    const pauseSeconds = endpointPause(endpointFailures + 1, retryAfterSeconds)
    const { disabled } = await deliveries.failed(delivery, { fault, status, retryInSeconds, pauseSeconds })
    if (disabled) {
      await deliveries.cancelPending(endpointId)
      log.warn({ endpointId, fault }, 'webhook endpoint disabled')
    } else if (retryInSeconds === undefined) log.warn({ endpointId, fault, attempts }, 'webhook delivery given up')
    else await jobs.enqueue(delivery, retryInSeconds * 1000)
  }

  /** If anything fails here, the claim expires and the delivery is claimed again. */
  const deliver = async (delivery: ClaimedDelivery): Promise<void> => {
    try {
      const body = await payloadOf(delivery)
      if (body === undefined) await record(delivery, { delivered: false, fault: 'picture_removed' })
      else await record(delivery, await sender.send(delivery, body, leaving.signal))
    } catch (err) {
      if (leaving.signal.aborted) await deliveries.releaseClaim(delivery).catch(() => undefined)
      else log.warn({ err }, 'a webhook could not be sent, or its result not recorded')
    }
  }

  const sends = dueWork({
    claim: (inFlight) => deliveries.claim(busyAccounts(inFlight)),
    work: deliver,
    mayBegin: (inFlight) => inFlight < MAX_SENDS,
    onClaimFault: (err) => log.warn({ err }, 'due webhooks could not be claimed'),
  })

  return {
    /** Claims what is due and begins to send it; does not wait for the sends. Never rejects. */
    sendDue: sends.wake,

    /** Polls from now on. */
    start(): void {
      const clean = () => deliveries.clean().catch((err) => log.warn({ err }, 'old deliveries could not be deleted'))
      timers = [setInterval(() => void sends.wake(), DUE_POLL_MS), setInterval(() => void clean(), CLEAN_MS)]
      void sends.wake()
    },

    /** Begins no more sends; those in flight may end within this time, then their claims are given back. */
    async stop(withinMs: number): Promise<void> {
      for (const timer of timers) clearInterval(timer)
      await sends.stop(leaving, withinMs)
    },
  }
}

/** Of which no more deliveries are to be claimed now. */
function busyAccounts(inFlight: Iterable<ClaimedDelivery>): string[] {
  const counts = new Map<string, number>()
  for (const { accountId } of inFlight) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= MAX_SENDS_PER_ACCOUNT).map(([accountId]) => accountId)
}
