import { describe, expect, it } from 'vitest'
import type { ModelVersion } from '../../src/core/catalog/model-version.js'
import { SEED_MODELS } from '../../src/core/catalog/model-version.js'
import { givenSession } from '../support/given-sign-in.js'
import { type GivenUser, givenGeneration, givenKey, givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'
import { givenSucceeded } from './given-images.js'

const easel = useEasel()
const PONY = SEED_MODELS.find(({ id }) => id === 10) as ModelVersion
const developer = (): Promise<GivenUser> => givenUser(easel.db, { developer: { concurrency: 4 } })

describe('usage', () => {
  it('counts images and credits per key and model, and names the kind of each key', async () => {
    const user = await developer()
    await givenSucceeded(easel, user, { batchSize: 3 })
    await givenSucceeded(easel, user, { batchSize: 2 })
    await givenSucceeded(easel, user, { batchSize: 1, model: PONY })
    const second = { ...user, ...(await givenKey(easel.db, user.id, { concurrency: 4 })) }
    await givenSucceeded(easel, second, { batchSize: 4 })
    const personal = { ...user, ...(await givenKey(easel.db, user.id)), developer: false }
    await givenSucceeded(easel, personal, { batchSize: 2 })
    const failed = await givenGeneration(easel.db, personal)
    await easel.json(`jobs cancel ${failed.id}`)
    await givenSession(easel.db, user)
    const { rows } = await easel.db.pool.query(`SELECT id FROM api_keys WHERE user_id = $1 AND kind = 'website'`, [
      user.id,
    ])
    const site = { ...personal, keyId: rows[0].id as string }
    await givenSucceeded(easel, site)
    await givenSucceeded(easel, await developer())
    expect(await easel.json(`usage ${user.username}`)).toEqual([
      {
        key_id: user.keyId,
        key_name: '',
        kind: 'developer',
        hint: `easel_…${user.key.slice(-4)}`,
        model_version_id: 1,
        model_name: 'NoobAI-XL',
        model_version_name: 'v1.1',
        images: 5,
        credits: 0,
      },
      expect.objectContaining({ key_id: user.keyId, model_version_id: 10, images: 1 }),
      expect.objectContaining({ key_id: second.keyId, model_version_id: 1, images: 4 }),
      expect.objectContaining({ key_id: personal.keyId, kind: 'personal', images: 2, credits: 2 }),
      expect.objectContaining({ key_id: site.keyId, kind: 'website', hint: '', images: 1, credits: 1 }),
    ])
    const lines = (await easel.text(`usage ${user.username}`)).split('\n')
    expect(lines[0]).toMatch(/^key +name +kind +model +version +version id +images +credits$/)
    expect(lines[1]).toMatch(/ +- +developer +NoobAI-XL +v1\.1 +1 +5 +0$/)
  })

  it('counts from --since until --until: of a date, the whole day in UTC', async () => {
    const user = await developer()
    for (const at of ['04-30T23:59:59.999999Z', '05-01T00:00:00Z', '05-31T23:59:59.999999Z', '06-01T00:00:00Z']) {
      const { id } = await givenSucceeded(easel, user)
      await easel.db.pool.query('UPDATE usage SET created_at = $2 WHERE generation_id = $1', [id, `2026-${at}`])
    }
    const images = async (options: string) => (await easel.json(`usage ${user.username} ${options}`))[0]?.images
    expect(await images('--since 2026-05-01 --until 2026-05-31')).toBe(2)
    expect(await images('--since 2026-05-01 --until 2026-05-01')).toBe(1)
    expect(await images('--since 2026-05-01 --until 2026-06-01T00:00:00Z')).toBe(2)
    expect(await images('--since 2026-05-01')).toBe(3)
    expect(await images('--until 2026-05-31T00:00:01Z')).toBe(2)
    expect(await easel.text(`usage ${user.username} --until 2020-01-01`)).toBe('Nothing was made in that time.')
    expect(await easel.json(`usage ${user.username} --until 2020-01-01`)).toEqual([])
  })

  it('refuses a time that is none', async () => {
    const { username } = await developer()
    expect(await easel.error(`usage ${username} --since may`)).toMatch(/^--since must be an ISO date/)
    expect(await easel.error(`usage ${username} --since 2026-05-02 --until 2026-05-01`)).toBe(
      'That time ends before it begins: give a later --until.',
    )
    expect(await easel.error('usage nobody')).toBe('No user "nobody": "easel user list" shows all.')
  })
})
