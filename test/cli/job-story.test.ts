import { describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../src/core/generations/generation.js'
import { newEndpointId, newWebhookSecret } from '../../src/core/webhooks/webhook.js'
import { reconcileStore } from '../../src/db/generations/reconcile.js'
import { runStore } from '../../src/db/generations/run.js'
import { webhookEndpointStore } from '../../src/db/webhooks/endpoints.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { unguarded } from '../support/unguarded.js'
import { useEasel } from './easel.js'
import { givenProcessing } from './given-images.js'

const easel = useEasel()
const ANYTHING = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }

describe('jobs show', () => {
  it('tells a job’s story from submit to end: each attempt, its wait and why it was put back, and the webhook', async () => {
    const user = await givenUser(easel.db, { credits: 10 })
    const { id } = await givenGeneration(easel.db, user, { requestId: 'req-1' })
    const endpoint = { url: 'https://hooks.test/s3cret', description: '', events: ['generation.failed'] as const }
    const endpoints = webhookEndpointStore(easel.db, newEndpointId, async () => undefined)
    await endpoints.create(user.id, { ...endpoint, id: newEndpointId(), secret: newWebhookSecret() }, 10)
    const store = runStore(easel.db, { refundFailed: true })
    const run = async (backend: string) => {
      const claimed = await store.claim({ worker: 'gpu1-7', backend }, ANYTHING)
      if (claimed?.id !== id) throw new Error('another one was claimed')
      return claimed
    }
    await store.requeue(await run('comfyui+http://gpu1:8188'), { reason: 'oom', countTry: true, delayMs: 0 })
    await run('a1111+http://gpu2:7860')
    await easel.db.pool.query(`UPDATE generations SET lease_until = now() - interval '1 s' WHERE id = $1`, [id])
    await reconcileStore(easel.db, { refundFailed: true }).requeueLost()
    await store.fail(await run('comfyui+http://gpu1:8188'), 'The GPU ran out of memory.')

    const job = await easel.json(`jobs show ${id}`)
    const times = { waited_ms: expect.any(Number), ran_ms: expect.any(Number) }
    const ended = { ...times, started_at: expect.any(String), ended_at: expect.any(String), worker: 'gpu1-7' }
    const [one, two] = ['comfyui+http://gpu1:8188', 'a1111+http://gpu2:7860']
    expect(job).toMatchObject({ interface: 'personal_api', request_id: 'req-1', trace_id: null })
    expect(job.attempts).toEqual([
      { ...ended, attempt: 1, backend: one, outcome: 'put_back', reason: 'oom', counted_as_try: true },
      { ...ended, attempt: 2, backend: two, outcome: 'put_back', reason: 'worker_lost', counted_as_try: false },
      {
        ...ended,
        ...{ attempt: 3, backend: one, outcome: 'failed', reason: 'The GPU ran out of memory.', counted_as_try: false },
      },
    ])
    expect(job.webhooks).toMatchObject([{ type: 'generation.failed', url: 'https://hooks.test', status: 'pending' }])
    const text = await easel.text(`jobs show ${id}`)
    if (process.env.SHOW_FIGURES) console.log(text)
    const story = text.slice(text.indexOf('\ntime ')).replaceAll(/\d+\.\d s/g, 'N s')
    expect(story.split('\n').map((line) => line.replace(/^\S+Z +N s +/, ''))).toEqual([
      '',
      'time                  after  what',
      'submitted through the Personal API with the personal key, request req-1',
      '1 credit charged, the account has 9',
      `attempt 1 starts on ${one}, worker gpu1-7, after waiting N s`,
      'attempt 1 is put back after N s: the GPU ran out of memory; this counts as a try',
      `attempt 2 starts on ${two}, worker gpu1-7, after waiting N s`,
      'attempt 2 is put back after N s: the worker died or stood still',
      `attempt 3 starts on ${one}, worker gpu1-7, after waiting N s`,
      'attempt 3 fails after N s: The GPU ran out of memory.',
      '1 credit given back, the account has 10',
      'webhook generation.failed to https://hooks.test: pending, 0 tries',
    ])
  })

  it('counts the wait for a later attempt from the end of the one before', async () => {
    const { id } = await givenGeneration(easel.db, await givenUser(easel.db))
    const store = runStore(easel.db, { refundFailed: true })
    const claim = async () => {
      const claimed = await store.claim({ worker: 'w', backend: 'b' }, ANYTHING)
      if (claimed?.id !== id) throw new Error('another one was claimed')
      return claimed
    }
    await store.requeue(await claim(), { reason: 'oom', countTry: true, delayMs: 0 })
    await store.fail(await claim(), 'The GPU ran out of memory.')
    const ago = (seconds: number) => `now() - interval '${seconds} seconds'`
    await unguarded(
      easel.db,
      `WITH put_back AS (
         UPDATE put_back_attempts SET claimed_at = ${ago(90)}, put_back_at = ${ago(70)} WHERE generation_id = $1)
       UPDATE generations SET created_at = ${ago(100)}, started_at = ${ago(90)}, claimed_at = ${ago(65)},
              finished_at = ${ago(40)} WHERE id = $1`,
      [id],
    )
    expect((await easel.json(`jobs show ${id}`)).attempts).toMatchObject([
      { attempt: 1, waited_ms: 10_000, ran_ms: 20_000 },
      { attempt: 2, waited_ms: 5000, ran_ms: 25_000 },
    ])
  })

  it('tells what a job waits for, and for how long it has been running', async () => {
    const user = await givenUser(easel.db)
    const generation = await givenGeneration(easel.db, user)
    expect(await easel.text(`jobs show ${generation.id}`)).toMatch(/waits for attempt 1$/)
    await givenProcessing(easel, generation)
    expect(await easel.text(`jobs show ${generation.id}`)).toMatch(/attempt 1 has been running for \d+\.\d s$/)
    await easel.json(`jobs cancel ${generation.id}`)
    expect(await easel.text(`jobs show ${generation.id}`)).toMatch(/attempt 1 fails after \d+\.\d s: Canceled\.\n/)
  })
})
