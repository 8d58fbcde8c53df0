import { beforeEach, describe, expect, it } from 'vitest'
import { accountExports } from '../../../src/db/gallery/account-export.js'
import { imageDeletions } from '../../../src/db/gallery/deletions.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { galleryStore } from '../../../src/db/gallery/gallery.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { monthStore } from '../../../src/db/generations/move-to-months.js'
import { retentionStore } from '../../../src/db/generations/retention.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { publishedImages } from '../../../src/db/images/published-images.js'
import { imageRemovals, operatorImageStore } from '../../../src/db/images/removals.js'
import { reportStore } from '../../../src/db/images/reports.js'
import { takedownStore } from '../../../src/db/images/takedowns.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { age, move } from '../../support/moved-to-months.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const easel = useEasel({ each: true })
const PAGE = { limit: 50, after: undefined }
const SHAPE = { width: 8, height: 8, batchSize: 2 }

let user: GivenUser
let id: string
let slug: string
let other: string

beforeEach(async () => {
  user = await givenUser(easel.db)
  const generation = await givenSucceeded(easel, user, SHAPE)
  id = generation.id
  ;[slug, other] = generation.slugs as [string, string]
  await rows('UPDATE images SET seed = seed + idx')
  await age(easel.db)
})

const rows = async (text: string, ...values: unknown[]) => (await easel.db.pool.query(text, values)).rows
const monthOf = async (of: string) => (await rows('SELECT month FROM all_generations WHERE id = $1', of))[0].month
const violations = async () =>
  (JSON.parse((await easel.run('audit --full --json')).stdout).checks as { name: string; violations: number }[])
    .filter((it) => it.violations > 0)
    .map(({ name }) => name)

describe('an image that has moved to its month', () => {
  beforeEach(() => move(easel.db))

  it('is made private and public again, and its files are to be moved', async () => {
    const privacy = imagePrivacy(easel.db)
    expect(await privacy.set(user.id, [slug, other], true)).toBe(2)
    expect(await privacy.isMoving(slug)).toBe(true)
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ isPrivate: true })
    expect(await privacy.set(user.id, [slug], false)).toBe(1)
    await privacy.revokeLinks(user.id, slug)
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ isPrivate: false, linkRevocations: 1 })
  })

  it('is not made private by a stranger', async () => {
    expect(await imagePrivacy(easel.db).set((await givenUser(easel.db)).id, [slug], true)).toBe(0)
  })

  it('is deleted, which can be undone, and removed when the time for that is over', async () => {
    const deletions = imageDeletions(easel.db)
    expect(await deletions.begin(user.id, [slug, other], 60)).toBe(2)
    expect(await deletions.undoable(user.id)).toBe(2)
    expect((await galleryStore(easel.db).images(user.id, {}, PAGE)).items).toEqual([])
    expect(await deletions.undo(user.id)).toBe(2)
    expect(await deletions.begin(user.id, [slug], 0)).toBe(1)
    await takedownStore(easel.db).endDeletions()
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
    expect(await takedownStore(easel.db).claimDue()).toContain(slug)
  })

  it('is taken down once, with its reason', async () => {
    const removed = await imageRemovals(easel.db).remove(slug, 'because', undefined)
    expect(removed).toMatchObject({ reason: 'because' })
    expect(await imageRemovals(easel.db).remove(slug, 'again', user.id)).toEqual(removed)
    expect(await takedownStore(easel.db).claimDue()).toContain(slug)
  })

  it('is reported, put into a folder and taken out', async () => {
    expect(await reportStore(easel.db).add(slug, { reason: 'other', note: '' })).toBe(true)
    const folder = await folderStore(easel.db).create(user.id, 'Best')
    expect(await folderStore(easel.db).add(user.id, folder, [slug, 'unknown'])).toBe(1)
    expect((await galleryStore(easel.db).images(user.id, { folder }, PAGE)).items.map((it) => it.slug)).toEqual([slug])
    await folderStore(easel.db).take(user.id, folder, [slug])
    expect(await folderStore(easel.db).of(user.id, slug)).toEqual([])
  })

  it('goes with its prompt once it is older than it is kept', async () => {
    const retention = retentionStore(easel.db)
    const kept = { prompts: 10, images: 10 }
    await rows(`UPDATE notices SET created_at = now() - interval '2 days'`)
    const { accounts } = await retention.overdue(kept, undefined)
    expect(accounts).toContainEqual(expect.objectContaining({ accountId: user.id, prompts: true, images: true }))
    expect(await retention.emptyPrompts(user.id, kept)).toBe(1)
    expect(await retention.removeImages(user.id, kept)).toBe(1)
    expect(await rows('SELECT prompt FROM all_generations WHERE id = $1', id)).toEqual([{ prompt: '' }])
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
    expect(await retention.emptyPrompts(user.id, kept)).toBe(0)
  })

  it('goes with its account', async () => {
    const store = operatorImageStore(easel.db)
    expect(await store.wipePromptsOf(user.id)).toBe(1)
    expect(await store.removeAllOf(user.id, 'gone')).toBe(2)
    expect(await publishedImages(easel.db).find(other)).toMatchObject({ removed: true })
    const images = []
    for await (const image of accountExports(easel.db).images(user.id)) images.push(image)
    expect(images).toEqual([])
  })

  it('keeps the guards: what has ended does not change, and the ledger is append-only', async () => {
    await expect(rows(`UPDATE all_generations SET status = 'failed', error = 'x' WHERE id = $1`, id)).rejects.toThrow(
      'cannot change',
    )
    await expect(rows('UPDATE all_credit_ledger SET delta = 0 WHERE generation_id = $1', id)).rejects.toThrow(
      'append-only',
    )
    await expect(rows('DELETE FROM all_credit_ledger WHERE generation_id = $1', id)).rejects.toThrow('append-only')
    await expect(
      rows(`SELECT set_config('easel.moving', 'on', false); UPDATE all_credit_ledger SET delta = 0`),
    ).rejects.toThrow('append-only')
    await expect(
      rows(
        `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id) VALUES ('${user.id}', 'refund', 1, 1, '${id}')`,
      ),
    ).rejects.toThrow('credit_ledger_generation_id_fkey')
  })
})

describe('the move', () => {
  it('moves what was submitted before the live months and has ended, once, and leaves the rest', async () => {
    const today = await givenSucceeded(easel, user, { ...SHAPE, batchSize: 1 })
    const waiting = await givenGeneration(easel.db, user)
    const moved = await move(easel.db)
    expect(moved.generations).toBeGreaterThanOrEqual(1)
    expect(await monthOf(id)).not.toBeNull()
    expect([await monthOf(today.id), await monthOf(waiting.id)]).toEqual([null, null])
    expect(await move(easel.db)).toEqual({ generations: 0, left: 0, months: [] })
    await cancelStore(easel.db).cancel(waiting.id, 'Canceled.', { onlyQueued: true })
    expect(await violations()).toEqual([])
  })

  it('leaves what somebody holds for the next time', async () => {
    const holder = await easel.db.pool.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM generations WHERE id = $1 FOR UPDATE', [id])
    await move(easel.db)
    expect(await monthOf(id)).toBeNull()
    await holder.query('ROLLBACK')
    holder.release()
    await move(easel.db)
    expect(await monthOf(id)).not.toBeNull()
  })

  it('loses no change that waits for it', async () => {
    const mover = await easel.db.pool.connect()
    const month = `${(await rows('SELECT month_of(created_at)::text AS month FROM generations WHERE id = $1', id))[0].month}`
    await monthStore(easel.db).add(month)
    await mover.query('BEGIN')
    await mover.query('SELECT move_to_months($1)', [[id]])
    const changes = [
      imagePrivacy(easel.db).set(user.id, [slug, other], true),
      reportStore(easel.db).add(other, { reason: 'other', note: '' }),
      operatorImageStore(easel.db).wipePromptsOf(user.id),
    ]
    const waiting = async () =>
      (await rows(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
        .length
    await until(async () => (await waiting()) === changes.length, 'the changes to wait for the move')
    await mover.query('COMMIT')
    mover.release()
    expect(await Promise.all(changes)).toEqual([2, true, 1])
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ isPrivate: true })
  })

  it.each(['generations', 'images', 'credit_ledger', 'usage', 'put_back_attempts'])(
    'is done wholly or not at all when it is killed at a row of %s',
    async (table) => {
      await givenSucceeded(easel, await givenUser(easel.db, { developer: { concurrency: 1 } }), {
        ...SHAPE,
        batchSize: 1,
      })
      await rows(
        `INSERT INTO put_back_attempts (generation_id, attempt, reason, counted)
         SELECT id, 0, 'worker_lost', false FROM generations`,
      )
      await age(easel.db)
      await rows(
        `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`,
      )
      await rows(`CREATE TRIGGER die BEFORE UPDATE ON all_${table} FOR EACH ROW EXECUTE FUNCTION die()`)
      await expect(move(easel.db)).rejects.toThrow('terminat')
      expect(await monthOf(id)).toBeNull()
      expect(await violations()).toEqual([])
      await rows('DROP FUNCTION die CASCADE')
      expect((await move(easel.db)).generations).toBe(2)
      expect(await violations()).toEqual([])
    },
  )

  it('is followed by the audit of everything, which finds a violation in a month', async () => {
    await move(easel.db)
    const broken = [
      ['images-are-as-ordered', 'UPDATE all_images SET seed = seed + 1'],
      ['ledger-balances-add-up', `UPDATE all_credit_ledger SET balance = balance + 1 WHERE kind = 'charge'`],
    ] as const
    for (const [name, change] of broken) {
      await unguarded(easel.db, change)
      expect(await violations()).toContain(name)
    }
  })
})

describe('easel maintenance', () => {
  it('moves what is due and says what it has moved', async () => {
    const { generations, months } = await easel.json('maintenance --live-months 1')
    expect(generations).toBeGreaterThanOrEqual(1)
    expect(months.length).toBeLessThanOrEqual(1)
    expect(await easel.text('maintenance', { LIVE_MONTHS: '1' })).toBe('Nothing is to be moved.')
  })

  it('asks how many months stay live', async () => {
    expect(await easel.error('maintenance')).toBe(
      '--live-months, or LIVE_MONTHS, must say how many whole months before this one stay in the live tables.',
    )
  })
})
