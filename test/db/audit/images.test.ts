import { expect, it } from 'vitest'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, set, violated } = audited

it('an audit finds a job that succeeded without its images, and images of one that did not', async () => {
  const { succeeded, running } = audited
  const found = async () => (await violated())['succeeded-jobs-have-their-images']
  await breaking('DELETE FROM images WHERE slug = $1', [succeeded.slugs[0]])
  expect(await found()).toBe(1)
  await breaking('UPDATE images SET generation_id = $2, idx = 0 WHERE generation_id = $1 AND idx = 2', [
    succeeded.id,
    running.id,
  ])
  expect(await found()).toBe(2)
})

it('an audit finds two images of a job that have changed places', async () => {
  await breaking('ALTER TABLE images DROP CONSTRAINT images_generation_id_idx_key')
  await breaking('UPDATE images SET idx = 2 - idx WHERE generation_id = $1', [audited.succeeded.id])
  expect(await violated()).toEqual({ 'images-are-as-ordered': 2, 'succeeded-jobs-have-their-images': 1 })
})

it('an audit finds an image of another seed or size than was asked for', async () => {
  const { succeeded, metered } = audited
  const found = async (count: number) => expect(await violated()).toMatchObject({ 'images-are-as-ordered': count })
  await breaking('UPDATE images SET seed = seed + 1 WHERE slug = $1', [succeeded.slugs[0]])
  await found(1)
  await breaking('UPDATE images SET width = width + 8 WHERE slug = $1', [succeeded.slugs[2]])
  await found(2)
  await breaking('UPDATE images SET height = height + 8 WHERE slug = $1', [metered.slugs[0]])
  await found(3)
})

it('an audit accepts the scaled images of a definition, and finds one of another revision and one that is out of shape', async () => {
  const { succeeded, metered } = audited
  const found = async (count: number) =>
    expect((await violated())['images-are-as-ordered'] ?? 0, `${count} violations`).toBe(count)
  const madeWith = (name: string) => JSON.stringify({ backend: 'comfyui', definition: { name, hash: '' } })
  const all = 'WHERE generation_id = ANY ($1)'
  const ids = [succeeded.id, metered.id]
  for (const given of [succeeded, metered]) await set(given, `filename = 'upscaled@2', width = 512, height = 768`)
  await breaking(`UPDATE images SET width = 1024, height = 1544 ${all}`, [ids])
  await found(succeeded.slugs.length + metered.slugs.length)
  await breaking(`UPDATE images SET made_with = $2 ${all}`, [ids, madeWith('upscaled@2')])
  await found(0)
  await breaking('UPDATE images SET made_with = $2 WHERE slug = $1', [metered.slugs[0], madeWith('upscaled@1')])
  await found(1)
  await breaking('UPDATE images SET height = 768 WHERE slug = $1', [succeeded.slugs[0]])
  await found(2)
})

it('an audit accepts that seeds begin anew at 0 after the largest', async () => {
  await set(audited.metered, 'seed = 4294967295')
  await breaking('UPDATE images SET seed = CASE idx WHEN 0 THEN 4294967295 ELSE 0 END WHERE generation_id = $1', [
    audited.metered.id,
  ])
  expect(await violated()).toEqual({})
})

it('an audit finds a slug that two jobs share', async () => {
  const { succeeded, failed } = audited
  await set(failed, `slugs = ARRAY[slugs[1], '${succeeded.slugs[0]}']`)
  expect(await violated()).toEqual({ 'slugs-are-used-once': 1 })
})

it('an audit finds metered images that are not counted, charged ones that are, and images counted for another user, key or model', async () => {
  const { easel, succeeded, metered, user } = audited
  const found = async (count: number) => expect(await violated()).toEqual({ 'metered-images-are-counted-once': count })
  await breaking('DELETE FROM usage WHERE generation_id = $1 AND idx = 1', [metered.id])
  await found(1)
  await breaking(
    `INSERT INTO usage SELECT $1, idx, api_key_id, user_id, model_version_id, (SELECT finished_at FROM generations WHERE id = $1)
       FROM usage`,
    [succeeded.id],
  )
  await found(2)
  await breaking('DELETE FROM usage WHERE generation_id = $1', [succeeded.id])
  await breaking(
    `INSERT INTO usage SELECT generation_id, 1, api_key_id, user_id, model_version_id, created_at FROM usage`,
  )
  for (const [column, wrong] of [
    ['user_id', user.id],
    ['api_key_id', user.keyId],
    ['model_version_id', 11],
  ] as const) {
    const [right] = (await easel.db.pool.query(`SELECT ${column} AS it FROM usage`)).rows
    await breaking(`UPDATE usage SET ${column} = $1`, [wrong])
    await found(1)
    await breaking(`UPDATE usage SET ${column} = $1`, [right.it])
  }
  expect(await violated()).toEqual({})
})
