/** What an API key may do, on both interfaces. */
import { describe, expect, it } from 'vitest'
import { operatorKeyStore } from '../../../src/db/accounts/api-keys.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { call, PROMPT } from '../../support/client.js'
import { aGeneration, creditsOf, givenKey, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { unguarded } from '../../support/unguarded.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
type Change = Parameters<ReturnType<typeof operatorKeyStore>['change']>[1]

async function given(change: Change, credits = 100) {
  const { db } = context.service
  const user = await givenUser(db, { credits })
  await operatorKeyStore(db).change(user.keyId, change)
  return user
}
const submit = (key: string, body: object = PROMPT) =>
  call(context.service.url, 'POST', '/api/v1/generate', { key, body })
const dryRun = (key: string, body: object) =>
  call(context.service.url, 'POST', '/api/v1/generate?dry_run=true', { key, body })
const create = (key: string, body: object) => call(context.service.url, 'POST', '/v1/images/generate', { key, body })

describe('a key with an end', () => {
  it('is refused from then on like a revoked one', async () => {
    const user = await given({ expiresAt: new Date(Date.now() + 3_600_000) })
    const account = () => call(context.service.url, 'GET', '/api/v1/account', { key: user.key })
    expect(await account()).toMatchObject({ status: 200 })
    await operatorKeyStore(context.service.db).change(user.keyId, { expiresAt: new Date(Date.now() - 1) })
    expect(await account()).toMatchObject({ status: 401, body: { error: expect.stringContaining('has expired') } })
    expect((await submit(user.key)).status).toBe(401)
    const { outcome } = await submissionStore(context.service.db).insert(aGeneration(user), {
      deadlineSeconds: 600,
      idempotencyKey: undefined,
    })
    expect(outcome).toBe('gone')
    expect(await creditsOf(context.service.db, user)).toBe(100)
  })
})

describe('a key for some model versions', () => {
  it('is refused others, and told so', async () => {
    const user = await given({ models: [1] })
    const refused = await submit(user.key, { ...PROMPT, model_version_id: 2 })
    expect(refused).toMatchObject({
      status: 403,
      body: { error: 'This API key is not for model version 2. Choose another one, or use another key.' },
    })
    expect((await dryRun(user.key, { ...PROMPT, model_version_id: 2 })).status).toBe(403)
    expect(await create(user.key, { model: 'plant-milk', prompt: 'a lighthouse' })).toMatchObject({
      status: 403,
      body: {
        error: {
          message: 'This API key is not for model "plant-milk". Choose another one, or use another key.',
          parameter: 'model',
        },
      },
    })
    expect((await submit(user.key, { ...PROMPT, model_version_id: 1 })).status).toBe(201)
  })
})

describe('a key with a monthly limit', () => {
  it('stops at it with a 402 that names it, while other keys of the account go on', async () => {
    const { db } = context.service
    const user = await given({ monthlyLimit: 5 })
    const first = await submit(user.key, { ...PROMPT, batch_size: 4 })
    expect(first.status).toBe(201)
    await db.pool.query(`UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE id = $1`, [
      first.body.id,
    ])
    expect(await submit(user.key, { ...PROMPT, batch_size: 2 })).toMatchObject({
      status: 402,
      body: {
        error:
          'This API key may spend 5 credits a month and has spent 4: this generation needs 2. Use another key, or raise its limit.',
      },
    })
    expect((await dryRun(user.key, { ...PROMPT, batch_size: 2 })).body).toMatchObject({
      credits_held: 96,
      sufficient: false,
    })
    expect((await dryRun(user.key, { ...PROMPT, batch_size: 1 })).body).toMatchObject({ sufficient: true })
    const { key } = await givenKey(db, user.id)
    expect((await submit(key, { ...PROMPT, batch_size: 2 })).status).toBe(201)
    expect(await creditsOf(db, user)).toBe(94)
  })

  it('counts what was given back as not spent, and nothing of the month before', async () => {
    const { db } = context.service
    const user = await given({ monthlyLimit: 4 })
    const canceled = await submit(user.key, { ...PROMPT, batch_size: 4 })
    await cancelStore(db).cancel(canceled.body.id, 'Canceled.', { onlyQueued: true })
    const old = await submit(user.key, { ...PROMPT, batch_size: 4 })
    expect(old.status).toBe(201)
    const earlier = `date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 second'`
    await unguarded(
      db,
      `UPDATE generations SET status = 'failed', error = 'over', created_at = ${earlier}, finished_at = ${earlier} WHERE id = $1`,
      [old.body.id],
    )
    expect((await submit(user.key, { ...PROMPT, batch_size: 4 })).status).toBe(201)
  })

  it('lets no race through: of many submits at once whose sum is too much only as many are stored as it allows', async () => {
    const { db } = context.service
    const user = await given({ monthlyLimit: 6 })
    const store = submissionStore(db)
    const options = { deadlineSeconds: 600, idempotencyKey: undefined }
    for (let round = 0; round < 12; round++) {
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const generation = aGeneration(user)
          const { outcome } = await store.insert(generation, options)
          if (outcome === 'inserted')
            await db.pool.query(
              `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE id = $1`,
              [generation.id],
            )
          return outcome
        }),
      )
      expect(new Set(outcomes)).not.toContain('insufficient')
    }
    expect(await creditsOf(db, user)).toBe(94)
  })
})
