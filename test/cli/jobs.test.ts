import { describe, expect, it } from 'vitest'
import { newestGenerations } from '../../src/db/generations/history.js'
import { redisActiveGenerationLock } from '../../src/redis/active-generation-lock.js'
import { chargesOf, creditsOf, givenGeneration, givenUser, givenWaiting, rowOf } from '../support/givens.js'
import { redisAvailable, redisUrl } from '../support/services.js'
import { openRedis } from '../support/test-redis.js'
import { useEasel } from './easel.js'
import { givenProcessing, givenSucceeded, SIDE } from './given-images.js'

const easel = useEasel()
const idsOf = (jobs: { id: string }[]) => jobs.map(({ id }) => id)

describe('jobs list', () => {
  it('lists newest first, by status and by user, as many as asked', async () => {
    const user = await givenUser(easel.db)
    const first = await givenSucceeded(easel, user)
    const second = await givenGeneration(easel.db, user, { batchSize: 2 })
    const other = await givenGeneration(easel.db, await givenUser(easel.db), { lane: 'create_image' })
    expect(idsOf(await easel.json('jobs list')).slice(0, 3)).toEqual([other.id, second.id, first.id])
    expect(idsOf(await easel.json('jobs list --limit 1'))).toEqual([other.id])
    const mine = await easel.json(`jobs list --user ${user.username.toUpperCase()}`)
    expect(idsOf(mine)).toEqual([second.id, first.id])
    expect(mine[0]).toEqual({
      id: second.id,
      status: 'queued',
      username: user.username,
      lane: 'personal',
      metered: false,
      model_version_id: 1,
      model_name: 'NoobAI-XL',
      batch_size: 2,
      credits_charged: 2,
      error: null,
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
    })
    expect(idsOf(await easel.json(`jobs list --status succeeded --user ${user.username}`))).toEqual([first.id])
    const lines = (await easel.text(`jobs list --user ${user.username}`)).split('\n')
    expect(lines[0]).toMatch(/^id +status +user +lane +model +images +credits +created +finished +error$/)
    expect(lines).toHaveLength(3)
  })

  it('lists 50 unless told otherwise', async () => {
    const user = await givenUser(easel.db, { developer: { concurrency: 1000 } })
    await givenWaiting(easel.db, user, { personal: 52, create_image: 0 })
    expect(await easel.json(`jobs list --user ${user.username}`)).toHaveLength(50)
    expect(await easel.json(`jobs list --user ${user.username} --limit 52`)).toHaveLength(52)
  })

  it.each([
    ['of all', {}, ['queue', 'processing', 'newest_succeeded', 'newest_failed']],
    ['that succeeded', { status: 'succeeded' }, ['newest_succeeded']],
    ['that failed', { status: 'failed' }, ['newest_failed']],
    ['of a user', { accountId: '00000000-0000-0000-0000-000000000000' }, ['history']],
  ] as const)('reads the newest jobs %s from an index, however many there are', async (_which, filter, indexes) => {
    const of = { status: undefined, accountId: undefined, ...filter }
    const { sql, params } = newestGenerations(easel.db.orm, of, 50).toSQL()
    const client = await easel.db.pool.connect()
    // So few rows are read at once and sorted, unless that is forbidden.
    await client.query('BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off')
    await client.query(`${indexes.length > 1 ? '' : 'SET LOCAL enable_sort = off; '}SET LOCAL enable_hashjoin = off`)
    const { rows } = await client.query(`EXPLAIN ${sql}`, params)
    await client.query('ROLLBACK')
    client.release()
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    for (const index of indexes) expect(plan).toContain(`using generations_${index}`)
    expect(plan).not.toContain('Seq Scan on generations')
  })

  it('says when there is none, and what it does not understand', async () => {
    const { username } = await givenUser(easel.db)
    expect(await easel.json(`jobs list --user ${username}`)).toEqual([])
    expect(await easel.text(`jobs list --user ${username}`)).toBe('No such jobs.')
    expect(await easel.error('jobs list --status done')).toBe(
      '--status must be one of queued, processing, succeeded, failed, not "done".',
    )
    expect(await easel.error('jobs list --limit 0')).toBe('--limit must be a whole number from 1 to 10000, not "0".')
    expect(await easel.error('jobs list --user nobody')).toBe('No user "nobody": "easel user list" shows all.')
  })
})

describe('jobs show', () => {
  it('shows parameters, times, images with their addresses, and the ledger', async () => {
    const user = await givenUser(easel.db, { credits: 10 })
    const { id, slugs } = await givenSucceeded(easel, user, { batchSize: 2, negativePrompt: 'fog' })
    const [slug, gone] = slugs as [string, string]
    await easel.json(['images', 'remove', gone, '--reason', 'asked for'])
    const job = await easel.json(`jobs show ${id}`)
    expect(job).toMatchObject({
      id,
      status: 'succeeded',
      username: user.username,
      key: { id: user.keyId, kind: 'personal', name: '' },
      prompt: 'a lighthouse at dusk',
      negative_prompt: 'fog',
      width: 832,
      height: 1216,
      steps: 30,
      cfg_scale: 7,
      sampler: 'euler_a',
      seed: 42,
      credits_charged: 2,
      attempt: 1,
      tries: 0,
      worker: 'w',
      finished_at: expect.any(String),
      images: [
        { slug, url: `https://easel.test/cdn/${slug}.png`, width: SIDE, height: SIDE, removed_at: null },
        { slug: gone, url: null, removed_at: expect.any(String), removed_reason: 'asked for' },
      ],
      ledger: [{ kind: 'charge', delta: -2, balance: 8 }],
    })
    const text = await easel.text(`jobs show ${id}`)
    expect(text).toMatch(/\nprompt {11}a lighthouse at dusk\nnegative prompt {2}fog\n/)
    expect(text).toContain(`https://easel.test/cdn/${slug}.png`)
    expect(text).toMatch(/removed \S+Z +asked for/)
    expect(text).toMatch(/Z {2}0\.0 s +2 credits charged, the account has 8\n/)
  })

  it('shows a prompt that would steer the terminal instead of sending it', async () => {
    const user = await givenUser(easel.db)
    const prompt = 'red \u001b]0;owned\u0007\nnext\u202eline'
    const { id } = await givenGeneration(easel.db, user, { prompt })
    const text = await easel.text(`jobs show ${id}`)
    expect(text).toContain('red \\u001b]0;owned\\u0007\\nnext\\u202eline')
    expect((await easel.json(`jobs show ${id}`)).prompt).toBe(prompt)
  })

  it('refuses an ID that is no job', async () => {
    expect(await easel.error('jobs show gen_none')).toBe(
      'No generation has the ID "gen_none": "easel jobs list" shows them.',
    )
  })
})

describe('jobs cancel', () => {
  it('ends a queued and a running job and gives the credits back, whatever REFUND_FAILED says', async () => {
    for (const running of [false, true]) {
      const user = await givenUser(easel.db, { credits: 5 })
      const generation = await givenGeneration(easel.db, user, { batchSize: 4 })
      if (running) await givenProcessing(easel, generation)
      expect(await easel.json(`jobs cancel ${generation.id}`, { REFUND_FAILED: 'false' })).toEqual({
        id: generation.id,
        status: 'failed',
        error: 'Canceled.',
      })
      expect(await creditsOf(easel.db, user)).toBe(5)
      expect(await chargesOf(easel.db, user)).toEqual([
        ['charge', -4],
        ['refund', 4],
      ])
      expect(await rowOf(easel.db, generation)).toMatchObject({ status: 'failed', lease_until: null })
    }
  })

  it('refuses a job that has ended, or never was', async () => {
    const user = await givenUser(easel.db)
    const { id } = await givenGeneration(easel.db, user)
    expect(await easel.text(`jobs cancel ${id}`)).toBe(`Job ${id} is canceled; its credits were given back.`)
    expect(await easel.error(`jobs cancel ${id}`)).toBe(
      `Generation ${id} has already ended (failed): only a queued or processing one can be canceled.`,
    )
    const done = await givenSucceeded(easel, user)
    expect(await easel.error(`jobs cancel ${done.id}`)).toMatch(/has already ended \(succeeded\)/)
    expect(await easel.error('jobs cancel gen_none')).toBe(
      'No generation has the ID "gen_none": "easel jobs list" shows them.',
    )
  })

  it.skipIf(!redisAvailable)('frees the account in Redis at once, and in Postgres even without Redis', async () => {
    const url = await redisUrl()
    const redis = await openRedis(url)
    try {
      const user = await givenUser(easel.db)
      const { id } = await givenGeneration(easel.db, user)
      const lock = redisActiveGenerationLock(redis, 'easel')
      await lock.acquire(user.id, id)
      await easel.json(`jobs cancel ${id}`, { REDIS_URL: url })
      expect(await lock.acquire(user.id, 'gen_next')).toEqual({ acquired: true })
    } finally {
      redis.disconnect()
    }
    const user = await givenUser(easel.db)
    const { id } = await givenGeneration(easel.db, user)
    expect(await easel.json(`jobs cancel ${id}`, { REDIS_URL: 'redis://127.0.0.1:1' })).toMatchObject({
      status: 'failed',
    })
  })
})
