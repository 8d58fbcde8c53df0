import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ClaimedGeneration } from '../../../src/core/generations/run/ports.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { runStore } from '../../../src/db/generations/run.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { aGeneration, chargesOf, creditsOf, type GivenUser, givenUser } from '../../support/givens.js'

const context = useDatabase()
const SERVES = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const START = 12

/** What may be done to one user's generation, in any order and any number of times. */
const steps = fc.array(
  fc.constantFrom(
    'submit 1',
    'submit 4',
    'claim',
    'succeed',
    'succeed as before',
    'fail',
    'fail as before',
    'requeue',
    'requeue with a try',
    'cancel',
    'lose the worker',
    'pass the deadline',
  ),
  { minLength: 5, maxLength: 30 },
)

const SEED = seedOf(11)

describe('a balance and the ledger', () => {
  it(`agree with the generations after any sequence of submits, claims, ends and crashes (seed ${SEED})`, async () => {
    const { db } = context
    const runs = runStore(db, { refundFailed: true })
    const reconciler = reconcileStore(db, { refundFailed: true })
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        await db.pool.query(
          `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status IN ('queued', 'processing')`,
        )
        const user = await givenUser(db, { credits: START })
        const claims: ClaimedGeneration[] = []
        for (const step of sequence) {
          const [latest, before] = [claims.at(-1), claims.at(-2)]
          if (step.startsWith('submit')) await submit(user, Number(step.slice(-1)))
          else if (step === 'claim')
            claims.push(...[await runs.claim({ worker: 'w', backend: 'b' }, SERVES)].flatMap((c) => c ?? []))
          else if (step === 'succeed' && latest) await runs.succeed(latest, imagesOf(latest))
          else if (step === 'succeed as before' && before) await runs.succeed(before, imagesOf(before))
          else if (step === 'fail' && latest) await runs.fail(latest, 'It failed.')
          else if (step === 'fail as before' && before) await runs.fail(before, 'It failed.')
          else if (step === 'requeue' && latest)
            await runs.requeue(latest, { reason: 'internal', countTry: false, delayMs: 0 })
          else if (step === 'requeue with a try' && latest)
            await runs.requeue(latest, { reason: 'internal', countTry: true, delayMs: 0 })
          else if (step === 'cancel') await cancelActive(user)
          else if (step === 'lose the worker') await expire(user, 'lease_until')
          else if (step === 'pass the deadline') await expire(user, 'deadline_at')
          await reconciler.requeueLost()
          await reconciler.failLost()
          await reconciler.failExpired()
          await expectAgreement(user)
        }
      }),
      { seed: SEED, numRuns: 40 * effort },
    )

    async function submit(user: GivenUser, batchSize: number) {
      await submissionStore(db).insert(aGeneration(user, { batchSize }), {
        deadlineSeconds: 600,
        idempotencyKey: undefined,
      })
    }
    async function cancelActive(user: GivenUser) {
      const active = await submissionStore(db).activeGeneration(user.id)
      if (active) await cancelStore(db).cancel(active.id, 'Canceled.', { onlyQueued: false })
    }
    async function expire(user: GivenUser, column: 'lease_until' | 'deadline_at') {
      await db.pool.query(
        `UPDATE generations SET ${column} = now() - interval '1 second'
          WHERE user_id = $1 AND (status = 'processing' OR ('${column}' = 'deadline_at' AND status = 'queued'))`,
        [user.id],
      )
    }
    /** The balance is what was granted less what was delivered or is still being made; nothing is charged or given back twice. */
    async function expectAgreement(user: GivenUser) {
      const { rows } = await db.pool.query(
        `SELECT g.id, g.status, g.cost, g.batch_size,
                (SELECT count(*) FROM credit_ledger l WHERE l.generation_id = g.id AND l.kind = 'charge') AS charges,
                (SELECT count(*) FROM credit_ledger l WHERE l.generation_id = g.id AND l.kind = 'refund') AS refunds,
                (SELECT count(*) FROM images i WHERE i.generation_id = g.id) AS images
           FROM generations g WHERE g.user_id = $1`,
        [user.id],
      )
      for (const row of rows) {
        expect(row).toMatchObject({
          charges: 1,
          refunds: row.status === 'failed' ? 1 : 0,
          images: row.status === 'succeeded' ? row.batch_size : 0,
        })
      }
      const kept = rows.filter(({ status }) => status !== 'failed').reduce((sum, { cost }) => sum + cost, 0)
      const moved = (await chargesOf(db, user)).reduce((sum, [, delta]) => sum + delta, 0)
      const credits = await creditsOf(db, user)
      expect(credits).toBe(START - kept)
      expect(credits).toBe(START + moved)
      expect(rows.filter(({ status }) => status === 'queued' || status === 'processing').length).toBeLessThanOrEqual(1)
    }
  })
})

const imagesOf = (generation: ClaimedGeneration) =>
  generation.slugs.map((slug, i) => ({
    slug,
    seed: generation.seed + i,
    width: 832,
    height: 1216,
    bytes: 1,
    sha256: 'x',
  }))
