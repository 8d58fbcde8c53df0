import { expect, it } from 'vitest'
import { audit } from '../../../src/db/audit/audit.js'
import { parseConfig } from '../../../src/process/config.js'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { givenUser } from '../../support/givens.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const easel = useEasel()

it('an audit ends at once when its signal is aborted, and so does its statement', async () => {
  const { databaseUrl, refundFailed, ...config } = parseConfig(easel.env)
  const blocker = await easel.db.pool.connect()
  await blocker.query('BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE')
  const waiting = async () => {
    const { rows } = await easel.db.pool.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'easel audit' AND wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }
  try {
    const telling = new AbortController()
    const images = wholeImageStore(config, easel.db)
    const looks = { redis: undefined, sample: 1, signal: telling.signal }
    const ended = expect(audit({ databaseUrl, refundFailed, images, ...looks })).rejects.toThrow('terminated')
    await until(waiting, 'its statement')
    telling.abort()
    await ended
    await until(async () => !(await waiting()), 'the end of its statement')
  } finally {
    await blocker.query('ROLLBACK')
    blocker.release()
  }
})

it('an audit on the command line prints the count of each check as JSON and exits with 1 if one finds a violation', async () => {
  const { id, username } = await givenUser(easel.db)
  await unguarded(easel.db, 'UPDATE users SET credits = credits + 1 WHERE id = $1', [id])
  const { code, stdout, stderr } = await easel.run('audit --json')
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  const { ok, checks } = JSON.parse(stdout)
  expect(ok).toBe(false)
  expect(checks).toContainEqual({ name: 'balance-is-sum-of-ledger', violations: 1, examples: [username] })
  expect(checks).toContainEqual({ name: 'ledger-balances-add-up', violations: 0 })
})

it('an audit looks again at an image that came from one place to another between its looks into both', async () => {
  const { slugs } = await givenSucceeded(easel, await givenUser(easel.db), { width: 8, height: 8, batchSize: 1 })
  const { databaseUrl, refundFailed, ...config } = parseConfig(easel.env)
  const images = wholeImageStore(config, easel.db)
  const looks = new Map<string, number>()
  const read = async (slug: string) => {
    looks.set(slug, (looks.get(slug) ?? 0) + 1)
    return looks.get(slug) === 1 ? undefined : images.read(slug)
  }
  const violationsOf = async (files: typeof images) =>
    (
      await audit({
        databaseUrl,
        refundFailed,
        redis: undefined,
        sample: undefined,
        images: files,
        pause: async () => 0,
      })
    ).find(({ name }) => name === 'images-are-stored-intact')?.violations
  expect(await violationsOf({ ...images, read })).toBe(0)
  expect(looks.get(slugs[0] as string)).toBe(2)
  expect(await violationsOf({ ...images, read: async () => undefined })).toBe(1)
})
