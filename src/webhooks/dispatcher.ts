import type { Log } from '../log.js'
import type { DeliveryStore, PayloadOf, WebhookJobs, WebhookSender } from './ports.js'
import { endpointPause, FAILING, retryDelay } from './retry-schedule.js'
import type { ClaimedDelivery, SendOutcome } from './webhook.js'

interface DispatchPorts {
  readonly deliveries: DeliveryStore
  readonly payloadOf: PayloadOf
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
export class WebhookDispatcher {
  readonly #ports: DispatchPorts
  readonly #underWay = new Map<ClaimedDelivery, Promise<void>>()
  readonly #leaving = new AbortController()
  readonly #timers: NodeJS.Timeout[] = []
  #stopped = false
  #looking: Promise<void> | undefined
  /** `look` was called again: there may be deliveries that the last claim did not see. */
  #again = false

  constructor(ports: DispatchPorts) {
    this.#ports = ports
  }

  /** Looks from now on, whether or not `look` is called. */
  start(): void {
    const clean = () => this.#ports.deliveries.clean().catch((err) => this.#warn(err, 'old deliveries are kept'))
    this.#timers.push(
      setInterval(() => void this.look(), LOOK_MS),
      setInterval(() => void clean(), CLEAN_MS),
    )
    void this.look()
  }

  /** Begins to send what is due; resolves when that has begun. Never rejects. */
  look(): Promise<void> {
    this.#again = true
    this.#looking ??= this.#take().finally(() => {
      this.#looking = undefined
      if (this.#again && !this.#stopped) void this.look()
    })
    return this.#looking
  }

  /** Starts nothing more; sends that are under way may end within this time, then they are given back. */
  async stop(withinMs: number): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearInterval(timer)
    await this.#looking
    const late = setTimeout(() => this.#leaving.abort(), withinMs)
    await Promise.all(this.#underWay.values())
    clearTimeout(late)
  }

  async #take(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false
        while (this.#underWay.size < AT_ONCE && !this.#stopped) {
          const delivery = await this.#ports.deliveries.claim(this.#busyAccounts())
          if (!delivery) break
          const sent = this.#deliver(delivery).finally(() => {
            this.#underWay.delete(delivery)
            if (!this.#stopped) void this.look()
          })
          this.#underWay.set(delivery, sent)
        }
      }
    } catch (err) {
      this.#again = false
      this.#warn(err, 'webhooks wait')
    }
  }

  #busyAccounts(): string[] {
    const counts = new Map<string, number>()
    for (const { accountId } of this.#underWay.keys()) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= AT_ONCE_PER_ACCOUNT).map(([accountId]) => accountId)
  }

  /** If anything fails here, the claim runs out and the delivery is claimed again. */
  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const { deliveries, payloadOf, sender } = this.#ports
    try {
      const body = await payloadOf(delivery)
      const outcome: SendOutcome =
        body === undefined
          ? { delivered: false, fault: 'picture_removed' }
          : await sender.send(delivery, body, this.#leaving.signal)
      await this.#record(delivery, outcome)
    } catch (err) {
      if (this.#leaving.signal.aborted) await deliveries.giveBack(delivery).catch(() => undefined)
      else this.#warn(err, 'a delivery could not be made or recorded')
    }
  }

  async #record(delivery: ClaimedDelivery, outcome: SendOutcome): Promise<void> {
    const { deliveries, jobs, log } = this.#ports
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

  #warn(err: unknown, sentence: string): void {
    this.#ports.log.warn({ err }, sentence)
  }
}
