import { reasonOf } from '../../lib/causes.js'
import { dueWork } from '../../lib/due-work.js'
import type { Log } from '../log.js'
import type { PaymentProvider } from './payment-provider.js'
import type { Answer, Applied, Asked, PaymentQueue } from './ports.js'

interface LoopPorts {
  readonly queue: PaymentQueue
  readonly provider: Pick<PaymentProvider, 'subscription' | 'payment' | 'cancelAll'>
  readonly log: Log
}

/** Of one server. */
const AT_ONCE = 4
/** Longer than a question and its answer's transaction may take. */
const LEASE_SECONDS = 60
const ANSWER_MS = 30_000
/** Notices can be lost, and processes die: a regular poll finds what they leave. */
const POLL_MS = 2000
const PROBLEMS_MS = 10_000
const CLEAN_MS = 3_600_000
const CLEANED_PAGES = 100
const FIRST_RETRY_SECONDS = 5
const MAX_RETRY_SECONDS = 3600
/** So long nothing is asked at most, when a provider is away. */
const MAX_PAUSE_MS = 30_000

export const retrySeconds = (failures: number, random = Math.random()): number =>
  Math.min(FIRST_RETRY_SECONDS * 2 ** Math.min(failures, 20), MAX_RETRY_SECONDS) * (1 + random / 4)

/** Asks the provider for what is due, and applies the answers; in any number of processes. */
export function paymentLoop({ queue, provider, log }: LoopPorts) {
  const leaving = new AbortController()
  let timers: NodeJS.Timeout[] = []
  /** Failures of the provider in a row, of any question. */
  let failures = 0
  let pausedUntil = 0

  const ask = async ({ kind, id }: Asked, plans: readonly string[]): Promise<Answer> => {
    if (kind === 'subscription') return { kind, found: await provider.subscription(id, plans) }
    if (kind === 'payment') return { kind, found: await provider.payment(id, queue.planPrices) }
    await provider.cancelAll(id)
    return { kind }
  }

  const postpone = async (asked: Asked, err: unknown, sentence: string): Promise<void> => {
    if (leaving.signal.aborted) return queue.release(asked)
    log.warn({ err, kind: asked.kind, id: asked.id, failures: asked.failures + 1 }, sentence)
    await queue.failed(asked, reasonOf(err), retrySeconds(asked.failures))
  }

  const workOff = async (asked: Asked): Promise<void> => {
    const plans = asked.kind === 'subscription' ? await queue.planPrices(asked.id) : []
    let answer: Answer
    try {
      answer = await answered(ask(asked, plans), leaving.signal)
    } catch (error) {
      failures++
      pausedUntil = performance.now() + Math.min(500 * 2 ** failures, MAX_PAUSE_MS)
      return postpone(asked, error, 'the payment provider could not be asked')
    }
    failures = 0
    pausedUntil = 0
    let applied: Applied
    try {
      applied = await queue.apply(asked, answer)
    } catch (error) {
      return postpone(asked, error, 'an answer of the payment provider could not be applied')
    }
    const facts = { kind: asked.kind, id: asked.id }
    if (applied === 'stale') log.info(facts, 'an answer of the payment provider was dropped for a later one')
    else if (applied.problem) log.warn({ ...facts, problem: applied.problem }, 'a payment could not be matched')
  }

  const questions = dueWork({
    claim: () => queue.claim(LEASE_SECONDS),
    // If Postgres is away, the claim ends, and then it is asked for again.
    work: (asked) =>
      workOff(asked).catch((err) => log.warn({ err, kind: asked.kind, id: asked.id }, 'a payment is applied later')),
    mayBegin: (inFlight) => inFlight < AT_ONCE && performance.now() >= pausedUntil,
    onClaimFault: (err) => log.warn({ err }, 'due payments could not be claimed'),
  })

  const clean = async (): Promise<void> => {
    for (let pages = 1; pages <= CLEANED_PAGES && (await queue.clean()) > 0; pages++);
  }
  const regularly = (work: () => Promise<unknown>, ms: number, sentence: string) =>
    setInterval(() => void work().catch((err) => log.warn({ err }, sentence)), ms)

  return {
    /** Claims what is due and begins to ask for it; does not wait for the answers. Never rejects. */
    workOffDue: questions.wake,

    /** Polls from now on. */
    start(): void {
      const retry = async () => {
        if ((await queue.retryProblems()) > 0) await questions.wake()
      }
      timers = [
        setInterval(() => void questions.wake(), POLL_MS),
        regularly(retry, PROBLEMS_MS, 'unmatched payments could not be looked at'),
        regularly(clean, CLEAN_MS, 'old payment events could not be deleted'),
      ]
      void questions.wake()
    },

    /** Asks nothing more; what is being asked may end within this time, then its claims are given back. */
    async stop(withinMs: number): Promise<void> {
      for (const timer of timers) clearInterval(timer)
      await questions.stop(leaving, withinMs)
    },
  }
}

/** Whatever the provider's client does: the claim must outlast the question. */
function answered<T>(asking: Promise<T>, leaving: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => () => reject(new Error(why))
    const onLeave = fail('The server stops.')
    const timer = setTimeout(fail(`No answer within ${ANSWER_MS / 1000} s.`), ANSWER_MS)
    leaving.addEventListener('abort', onLeave, { once: true })
    const end = () => {
      clearTimeout(timer)
      leaving.removeEventListener('abort', onLeave)
    }
    asking.then(resolve, reject).finally(end)
  })
}
