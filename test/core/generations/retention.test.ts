import { beforeAll, describe, expect, it } from 'vitest'
import { retentionStore } from '../../../src/db/generations/retention.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { wholeImageStore } from '../../../src/process/image-files.js'
import { givenOperatorKey } from '../../http/admin-api/given-operator-key.js'
import { call } from '../../support/client.js'
import { type GivenImage, givenFiles, givenImages } from '../../support/given-images.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const KEPT = { prompts: 30, images: 60 }
const context = useService({
  env: { RETAIN_PROMPTS_DAYS: `${KEPT.prompts}`, RETAIN_IMAGES_DAYS: `${KEPT.images}`, SITE_LANGUAGES: 'en,de' },
})

const sql = async (text: string, ...values: unknown[]) => (await context.service.db.pool.query(text, values)).rows
/** Past the trigger that keeps what was submitted as it is. */
const age = ({ id }: GivenUser, days: number, which = 'true') =>
  context.service.db.pool.query(
    `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE generations SET created_at = now() - interval '${days} days' WHERE user_id = '${id}' AND ${which}; COMMIT`,
  )
const given = async (images: readonly GivenImage[], days: number, plan?: string) => {
  const { db, config } = context.service
  const user = await givenUser(db, plan === undefined ? {} : { subscription: { plan } })
  const slugs = await givenImages(db, user, images)
  await givenFiles(config, slugs)
  await age(user, days)
  await forgetChanges()
  return { user, slugs }
}
/** As if all subscriptions had last changed two days ago. */
const forgetChanges = () => sql(`UPDATE notices SET created_at = now() - interval '2 days'`)
const promptsOf = async ({ id }: GivenUser): Promise<string[]> =>
  (await sql('SELECT prompt || negative_prompt AS it FROM generations WHERE user_id = $1 ORDER BY seq', id)).map(
    ({ it }) => it,
  )
const removedOf = async ({ id }: GivenUser): Promise<boolean[]> =>
  (
    await sql(
      `SELECT removed_at IS NOT NULL AS it FROM images i JOIN generations g ON g.id = i.generation_id
        WHERE user_id = $1 ORDER BY g.seq`,
      id,
    )
  ).map(({ it }) => it)

/** Lets the next pass begin, and waits until one has ended that began afterwards. */
async function pass(): Promise<void> {
  const isOver = async () =>
    (await sql(`SELECT FROM leases WHERE name = 'retention' AND until > now() + interval '30 minutes'`)).length === 1
  await until(isOver, 'the end of a pass')
  await sql(`UPDATE leases SET until = '-infinity' WHERE name = 'retention'`)
  await until(isOver, 'the end of the next pass')
}

let old: Awaited<ReturnType<typeof given>>
beforeAll(async () => {
  const { db } = context.service
  const images = [{ prompt: 'a fox', batchSize: 2 }]
  old = await given(images, 61)
  await imagePrivacy(db).set(old.user.id, [old.slugs[1] as string], true)
  const folder = (await sql(`INSERT INTO folders (user_id, name) VALUES ($1, 'Foxes') RETURNING id`, old.user.id))[0].id
  await sql(
    `INSERT INTO folder_images SELECT $1, g.created_at, g.seq, i.idx, i.slug FROM images i JOIN generations g ON g.id = i.generation_id WHERE user_id = $2`,
    ...[folder, old.user.id],
  )
  await sql(`INSERT INTO image_reports (slug, reason, note) VALUES ($1, 'likeness', 'my fox')`, old.slugs[0])
})

describe('what is older than it is kept', () => {
  it('goes: the prompt is emptied and the image is taken down, while counts and credits stay', async () => {
    const { service } = context
    const { url, db, config } = service
    const { user, slugs } = old
    const cookie = await givenSession(db, user)
    const usageBefore = await sql('SELECT cost, width, seed, status FROM generations WHERE user_id = $1', user.id)
    await pass()
    expect(await promptsOf(user)).toEqual([''])
    expect(await sql('SELECT cost, width, seed, status FROM generations WHERE user_id = $1', user.id)).toEqual(
      usageBefore,
    )
    const files = wholeImageStore(config, db)
    for (const slug of slugs) {
      await until(async () => !(await files.exists(slug)), 'the end of the file')
      // A private one never was, for others.
      expect((await visit(url, `/image/${slug}`, { cookie })).status).toBe(410)
    }
    await until(async () => (await sql('SELECT FROM takedowns')).length === 0, 'the end of the take-down')
    expect(await sql('SELECT FROM folder_images')).toEqual([])
    expect(await sql('SELECT note FROM image_reports')).toEqual([{ note: '' }])
    expect((await call(url, 'GET', '/api/v1/images', { key: user.key })).body.images).toEqual([])
    const { body } = await call(url, 'GET', '/api/v1/generations', { key: user.key })
    expect(body.generations).toMatchObject([{ prompt: '', negative_prompt: '', images: [] }])
  })

  it('is told on the pages of its owner, in their language', async () => {
    const { url, db } = context.service
    const { user, slugs } = await given([{ prompt: 'a heron' }], 31)
    await pass()
    const page = async (language: string) =>
      textOf(
        (
          await visit(url, `/image/${slugs[0]}`, {
            cookie: await givenSession(db, user),
            headers: { 'accept-language': language },
          })
        ).html,
      )
    expect(await page('en')).toContain('The prompt is no longer kept.')
    expect(await page('de')).toContain('Der Prompt wird nicht mehr aufbewahrt.')
    const account = async (who: GivenUser) =>
      textOf((await visit(url, '/account', { cookie: await givenSession(db, who) })).html)
    expect(await account(user)).toContain('A prompt is kept for 30 days, then emptied.')
    expect(await account(user)).toContain('An image is kept for 60 days, then removed')
    const plan = await givenPlan(db, { retainPromptsDays: 1, retainImagesDays: 0 })
    const other = await givenUser(db, { subscription: { plan: plan.name } })
    expect(await account(other)).toContain('A prompt is kept for a day, then emptied.')
    expect(await account(other)).not.toContain('An image is kept')
  })

  it('is what a plan says, if it says it, also after the subscription has ended', async () => {
    const { db } = context.service
    const forEver = await givenPlan(db, { retainPromptsDays: 0, retainImagesDays: 0 })
    const short = await givenPlan(db, { retainPromptsDays: 2, retainImagesDays: 90 })
    const silent = await givenPlan(db)
    const images = [{ prompt: 'a swan' }]
    const [keeps, ends, usual, young] = [
      await given(images, 1000, forEver.name),
      await given(images, 70, short.name),
      await given(images, 70, silent.name),
      await given(images, 1, short.name),
    ]
    await sql(`UPDATE subscriptions SET end_date = now() - interval '1 day' WHERE user_id = $1`, keeps.user.id)
    await forgetChanges()
    await pass()
    const left = async ({ user }: typeof keeps) => [(await promptsOf(user)).join(), (await removedOf(user)).join()]
    expect(await left(keeps)).toEqual(['a swanweeds', 'false'])
    expect(await left(ends)).toEqual(['', 'false'])
    expect(await left(usual)).toEqual(['', 'true'])
    expect(await left(young)).toEqual(['a swanweeds', 'false'])
    // From now on for a shorter time.
    await sql('UPDATE plans SET retain_prompts_days = 10, retain_images_days = NULL WHERE name = $1', forEver.name)
    await pass()
    expect(await left(keeps)).toEqual(['', 'true'])
  })

  it('goes no sooner than a day after a change of the subscription, which may be taken back', async () => {
    const { db } = context.service
    const forEver = await givenPlan(db, { retainPromptsDays: 0, retainImagesDays: 0 })
    const short = await givenPlan(db, { retainPromptsDays: 1, retainImagesDays: 1 })
    const images = [{ prompt: 'a crane' }]
    const [removed, changed] = [await given(images, 100, forEver.name), await given(images, 100, forEver.name)]
    await sql(
      `INSERT INTO refused_prompts (user_id, parameter, category, matched, prompt, at) VALUES ($1, 'prompt', 'x', '{}', 'a crane', now() - interval '80 days')`,
      removed.user.id,
    )
    await sql('DELETE FROM subscriptions WHERE user_id = $1', removed.user.id)
    await sql('UPDATE subscriptions SET plan = $2 WHERE user_id = $1', changed.user.id, short.name)
    const refusal = async () =>
      (await sql('SELECT prompt FROM refused_prompts WHERE user_id = $1', removed.user.id))[0].prompt
    const store = retentionStore(db)
    const left = async ({ user }: typeof removed) => [(await promptsOf(user)).join(), (await removedOf(user)).join()]
    await pass()
    // Nor where the change came once the pass had looked.
    for (const { user } of [removed, changed])
      expect([
        await store.emptyPrompts(user.id, KEPT),
        await store.removeImages(user.id, KEPT),
        await store.emptyRefusals(user.id, KEPT),
      ]).toEqual([0, 0, 0])
    for (const it of [removed, changed]) expect(await left(it)).toEqual(['a craneweeds', 'false'])
    expect(await refusal()).toBe('a crane')
    await forgetChanges()
    await pass()
    for (const it of [removed, changed]) expect(await left(it)).toEqual(['', 'true'])
    expect(await refusal()).toBe('')
    await sql('DELETE FROM refused_prompts')
  })

  it('goes in steps, page after page of accounts, and never what has not ended', async () => {
    const { db } = context.service
    const { user } = await given([{ prompt: 'last' }], 40)
    // More than a step, all of one moment; then one that is active; then more.
    await givenImages(db, user, Array(700).fill({ prompt: 'many' }))
    await age(user, 50, `prompt = 'many'`)
    const active = await givenGeneration(db, user, { prompt: 'active' })
    await age(user, 45, `id = '${active.id}'`)
    await Promise.all(Array.from({ length: 200 }, () => givenUser(db, { credits: 0, subscription: null })))
    await pass()
    expect((await promptsOf(user)).filter((it) => it !== '')).toEqual(['lastweeds', 'active'])
    await sql(`UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE id = $1`, active.id)
    await pass()
    expect((await promptsOf(user)).filter((it) => it !== '')).toEqual([])
    const { key } = await givenOperatorKey(db)
    expect(
      await call(context.service.url, 'POST', `/admin/v1/generations/${active.id}/run-again`, { key, body: {} }),
    ).toMatchObject({
      status: 400,
      body: { error: 'It can not be run again: its prompt is no longer kept.' },
    })
  })

  it('goes for prompts that moderation refused, too', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await forgetChanges()
    const note = (prompt: string) =>
      sql(
        `INSERT INTO refused_prompts (user_id, parameter, category, matched, prompt) VALUES ($1, 'prompt', 'x', '{word}', $2)`,
        ...[user.id, prompt],
      )
    await note('old')
    await sql(`UPDATE refused_prompts SET at = now() - interval '31 days'`)
    await note('young')
    await pass()
    expect(await sql('SELECT prompt, matched FROM refused_prompts ORDER BY id')).toEqual([
      { prompt: '', matched: [] },
      { prompt: 'young', matched: ['word'] },
    ])
  })

  it('is looked for by one server at a time', async () => {
    const { db } = context.service
    const store = retentionStore(db)
    await sql(`UPDATE leases SET until = now() + interval '1 hour' WHERE name = 'retention'`)
    expect(await store.begin('another')).toBe(false)
  })
})
