/** Submits, claims and ends at full rate, through the stores that servers and workers use, without HTTP and GPUs. */
import { setTimeout as delay } from 'node:timers/promises'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { createDatabase } from '../../../src/db/client.js'
import { runStore } from '../../../src/db/generations/run.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { aGeneration } from '../../support/givens.js'
import { median } from '../bench/figures.js'
import { accountId, keyId } from '../bench/fill.js'
import { isMetered, promptParts } from './history.js'

export interface TurnoverOptions {
  readonly databaseUrl: string
  readonly accounts: number
  /** How many generations are submitted and ended. */
  readonly generations: number
  /** How many times each one's lease is renewed: every 2 s of an image. */
  readonly renewals: number
  readonly signal: AbortSignal
  /** Told each time that a tenth is done, and awaited beside the work. */
  readonly onTenth: (so: TurnedOver) => Promise<unknown>
}

/** Since the tenth before. */
export interface TurnedOver {
  readonly ended: number
  readonly perSecond: number
  /** Milliseconds in the middle. */
  readonly submitMs: number
  readonly claimMs: number
  readonly endMs: number
}

const CONNECTIONS = 16
const SERVES = {
  models: SEED_MODELS.map(({ filename }) => filename),
  samplers: SAMPLERS,
  maxSeed: 4294967295,
  sizeMultiple: 8,
}

/** Resolves to how many have ended. */
export async function turnOver(options: TurnoverOptions): Promise<number> {
  const { databaseUrl, accounts, generations, renewals, signal, onTenth } = options
  const db = createDatabase(databaseUrl, { maxConnections: CONNECTIONS, onError: () => undefined })
  const [submissions, runs] = [submissionStore(db), runStore(db, { refundFailed: true })]
  const prompts = promptParts()
  const tenth = Math.ceil(generations / 10)
  let [begun, ended] = [0, 0]
  let since = performance.now()
  let times: Record<'submitMs' | 'claimMs' | 'endMs', number[]> = { submitMs: [], claimMs: [], endMs: [] }
  const timed = async <Answer>(name: keyof typeof times, work: Promise<Answer>): Promise<Answer> => {
    const at = performance.now()
    const answer = await work
    times[name].push(performance.now() - at)
    return answer
  }
  const telling: Promise<unknown>[] = []
  const marking = new Set<Promise<unknown>>()

  async function one(n: number): Promise<void> {
    const account = n % accounts
    const developer = isMetered(account)
    const user = { id: accountId(account), keyId: keyId(account), username: '', key: '', developer }
    const generation = aGeneration(user, {
      prompt: `${prompts[n % prompts.length]}, ${prompts[(n * 7919) % prompts.length]}`,
      model: SEED_MODELS[n % SEED_MODELS.length] as (typeof SEED_MODELS)[number],
      lane: developer ? 'create_image' : 'personal',
      batchSize: n % 3 === 0 ? 2 : 1,
      requestId: crypto.randomUUID(),
    })
    const stored = { deadlineSeconds: 3600, idempotencyKey: undefined }
    const { outcome } = await timed('submitMs', submissions.insert(generation, stored))
    if (outcome !== 'inserted') throw new Error(`a submit was answered ${outcome}`)
    // It waits a while, so as to tell of many at once.
    const marked: Promise<unknown> = submissions
      .markEnqueued({ id: generation.id, attempt: 1 })
      .finally(() => marking.delete(marked))
    marking.add(marked)
    await endOne(n)
  }

  /** Resolves to whether there was one that nobody else was about to take. */
  async function endOne(n: number): Promise<boolean> {
    const claimed = await timed('claimMs', runs.claim({ worker: 'w', backend: `gpu-${n % CONNECTIONS}` }, SERVES))
    if (!claimed) return false
    for (let renewal = 0; renewal < renewals; renewal++) await runs.heartbeat(claimed.id, claimed.attempt)
    const { slugs, seed, width, height } = claimed
    const images = slugs.map((slug, idx) => ({
      slug,
      seed: (seed + idx) % 2 ** 32,
      width,
      height,
      bytes: 1,
      sha256: 'x'.repeat(64),
    }))
    const isFailed = n % 33 === 5
    await timed(
      'endMs',
      isFailed ? runs.fail(claimed, 'The GPU server refused the request.') : runs.succeed(claimed, images),
    )
    ended++
    if (ended % tenth > 0) return true
    const seconds = (performance.now() - since) / 1000
    const { submitMs, claimMs, endMs } = times
    telling.push(
      onTenth({
        ...{ ended, perSecond: claimMs.length / seconds },
        ...{ submitMs: median(submitMs), claimMs: median(claimMs), endMs: median(endMs) },
      }),
    )
    times = { submitMs: [], claimMs: [], endMs: [] }
    since = performance.now()
    return true
  }

  try {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (begun < generations && !signal.aborted) await one(begun++)
        while (!signal.aborted && (await endOne(begun)));
      }),
    )
    await Promise.all([...telling, ...marking])
    return ended
  } finally {
    // A connection that a failure of another one has left at work.
    await Promise.race([db.pool.end(), delay(10_000, undefined, { ref: false })])
  }
}
