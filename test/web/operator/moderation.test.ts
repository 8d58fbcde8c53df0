import { render } from 'preact-render-to-string'
import { beforeAll, describe, expect, it } from 'vitest'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { LastAudit } from '../../../src/web/operator/overview/overview-page.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService({ worker: true, env: { RATE_LIMIT_MAX: '1000' } })
/** Hostile in every way, and refused. */
const REFUSED = 'a naked 12 year old girl\n</p><script>alert(1)</script> \u202e"quoted"'
let operator: Awaited<ReturnType<typeof givenOperator>>
let cookie: string

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
  cookie = operator.cookie
})

const see = (path: string) => visit(context.service.url, path, { cookie })
const send = (path: string, body: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { cookie, body })

async function notedOf({ id }: { readonly id: string }) {
  const { rows } = await context.service.db.pool.query('SELECT * FROM refused_prompts WHERE user_id = $1 ORDER BY id', [
    id,
  ])
  return rows
}

/** Refused prompts that lie in the log already. */
async function givenRefused({ id }: GivenUser, count: number, daysAgo = 0, category = 'test'): Promise<void> {
  await context.service.db.pool.query(
    `INSERT INTO refused_prompts (at, user_id, parameter, category, matched, prompt)
     SELECT now() - make_interval(days => $3), $1, 'prompt', $4, ARRAY['word'], 'prompt ' || n FROM generate_series(1, $2) n`,
    [id, count, daysAgo, category],
  )
}

describe('a refused prompt', () => {
  it('of a submit by either interface is noted, with the field and the words that were found', async () => {
    const { db, url } = context.service
    const [user, developer] = [await givenUser(db), await givenUser(db, { developer: { concurrency: 1 } })]
    const body = { ...PROMPT, prompt: REFUSED }
    expect((await call(url, 'POST', '/api/v1/generate', { key: user.key, body })).status).toBe(400)
    const asked = { key: developer.key, body: { prompt: REFUSED } }
    expect((await call(url, 'POST', '/v1/images/generate', asked)).status).toBe(400)
    const [noted] = await until(async () => (await notedOf(user)).length && notedOf(user))
    expect(noted).toMatchObject({ parameter: 'prompt', prompt: REFUSED, category: expect.any(String) })
    expect(noted.matched).toContain('12 year old')
    const [other] = await until(async () => (await notedOf(developer)).length && notedOf(developer))
    expect(other).toMatchObject({ parameter: 'prompt', prompt: REFUSED, wrong_at: null })
  })

  it('of a dry run or a check is not noted, unless it sexualises a minor', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const body = { ...PROMPT, prompt: 'necrophilia' }
    expect((await call(url, 'POST', '/api/v1/generate?dry_run=true', { key: user.key, body })).status).toBe(400)
    await call(url, 'POST', '/api/v1/moderate', { key: user.key, body: { prompt: 'necrophilia' } })
    // The note of a later submit shows that theirs would be there.
    await call(url, 'POST', '/api/v1/generate', { key: user.key, body })
    await until(async () => (await notedOf(user)).length > 0)
    expect(await notedOf(user)).toHaveLength(1)
  })

  it('is not noted if its user had many just before or that day; other users’ are', async () => {
    const { db, url } = context.service
    const [flooding, busy, calm] = [await givenUser(db), await givenUser(db), await givenUser(db)]
    await givenRefused(flooding, 10)
    await givenRefused(busy, 200)
    await db.pool.query(`UPDATE refused_prompts SET at = now() - interval '5 hours' WHERE user_id = $1`, [busy.id])
    for (const { key } of [flooding, busy, calm])
      await call(url, 'POST', '/api/v1/generate', { key, body: { ...PROMPT, prompt: REFUSED } })
    await until(async () => (await notedOf(calm)).length === 1)
    expect(await notedOf(flooding)).toHaveLength(10)
    expect(await notedOf(busy)).toHaveLength(200)
  })

  it('is deleted after 90 days', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    // The oldest have the lowest numbers.
    await db.pool.query('DELETE FROM refused_prompts')
    await givenRefused(user, 3, 91)
    await givenRefused(user, 2, 89)
    await reconcileStore(db, { refundFailed: true }).clean()
    expect(await notedOf(user)).toHaveLength(2)
  })
})

describe('the log of refused prompts', () => {
  it('can be read page by page, for one category or for one user', async () => {
    const { db } = context.service
    const [one, two] = [await givenUser(db), await givenUser(db)]
    await givenRefused(one, 70, 0, 'paged & <i>more</i>')
    await givenRefused(two, 1, 0, 'rare')
    const seen: string[] = []
    let path: string | undefined = `/operator/moderation?category=${encodeURIComponent('paged & <i>more</i>')}`
    while (path) {
      const { html } = await see(path)
      expect(html).not.toContain('<i>more')
      seen.push(...[...html.matchAll(/id="refusal-(\d+)"/g)].map(([, id]) => id as string))
      path = /href="([^"]+)">Next page/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(new Set(seen).size).toBe(70)
    expect(seen).toEqual([...seen].sort((a, b) => Number(b) - Number(a)))
    const ofTwo = await see(`/operator/moderation?user=${two.username.toUpperCase()}`)
    expect([...ofTwo.html.matchAll(/id="refusal-/g)]).toHaveLength(1)
    expect((await see('/operator/moderation?user=nobody')).html).toContain('There is no user of this name.')
    expect((await see('/operator/moderation?user=%00&category=%00&before=x')).status).toBe(200)
  })

  it('leads to the accounts with repeated refusals about minors, and these to their refusals', async () => {
    const { db } = context.service
    const [often, twice, other] = [await givenUser(db), await givenUser(db), await givenUser(db)]
    await givenRefused(often, 40, 2, 'sexual content with minors')
    await givenRefused(twice, 39, 1, 'drawn image: sexual/minors')
    await givenRefused(other, 50, 0, 'sexual acts with animals')
    expect((await see('/operator/moderation')).html).toContain('href="/operator/moderation/repeated"')
    const { status, html } = await see('/operator/moderation/repeated')
    expect(status).toBe(200)
    const users = [...html.matchAll(/href="\/operator\/moderation\?user=([^"]+)">(\d+)</g)].map(([, ...it]) => it)
    expect(users.slice(0, 2)).toEqual([
      [often.username, '40'],
      [twice.username, '39'],
    ])
    expect(html).not.toContain(other.username)
    expect(html).toContain(`href="/operator/users/${often.username}"`)
  })

  it('marks a refusal as wrong once, and records who did', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await givenRefused(user, 1)
    const [{ id }] = await notedOf(user)
    for (let n = 0; n < 2; n++) {
      const { status, location } = await send(`/operator/moderation/${id}/wrong`, { category: 'test', user: '' })
      expect([status, location]).toEqual([303, `/operator/moderation?category=test&done=wrong#refusal-${id}`])
    }
    expect((await notedOf(user))[0]).toMatchObject({ wrong_by: operator.username, wrong_at: expect.any(Date) })
    const { rows } = await db.pool.query('SELECT actor FROM operator_actions WHERE target = $1', [user.username])
    expect(rows).toEqual([{ actor: operator.username }])
    expect((await send('/operator/moderation/999999999/wrong', {})).status).toBe(404)
  })
})

describe('removing an image', () => {
  it('takes its address and a reason, deletes the file, and is listed with the reason and the operator', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const body = { ...PROMPT, width: 256, height: 256 }
    const submitted = await call(url, 'POST', '/api/v1/generate', { key: user.key, body })
    await endOf(context.service, user, submitted.body.id)
    const { rows } = await db.pool.query('SELECT slug FROM images WHERE generation_id = $1', [submitted.body.id])
    const slug = rows[0].slug as string
    const reason = 'Shows a <b>real</b> person'
    const { status, location } = await send('/operator/images', {
      image: ` http://easel.test/cdn/${slug}.png?x=1 `,
      reason,
    })
    expect(status).toBe(303)
    const { html } = await see(location as string)
    expect(html).toContain('The image is removed.')
    expect(html).toContain('Shows a &lt;b>real&lt;/b> person')
    expect(textOf(html)).toContain(`by ${operator.username}`)
    expect((await visit(url, `/image/${slug}`)).status).toBe(410)
    expect((await fetch(`${url}/cdn/${slug}.png`)).status).not.toBe(200)
    await until(async () => (await db.pool.query('SELECT FROM takedowns')).rowCount === 0)
    expect((await see('/operator/images/removed?unfinished=yes')).html).toContain('All removals are finished.')
    await db.pool.query(`INSERT INTO takedowns (slug, attempts, due_at) VALUES ($1, 3, now() + interval '1 hour')`, [
      slug,
    ])
    expect((await see('/operator/images/removed?unfinished=yes')).html).toMatch(/3 so far, next/)
  })

  it('is refused if there is no such image or no reason', async () => {
    for (const image of ['', 'x', 'a'.repeat(22), `${'a'.repeat(30)}`, 'javascript:alert(1)']) {
      const { status, html } = await send('/operator/images', { image, reason: 'x' })
      expect(status).toBe(404)
      expect(html).toContain('There is no such image')
    }
    expect((await send('/operator/images', { image: 'a'.repeat(22), reason: '' })).status).toBe(400)
  })
})

describe('the last audit', () => {
  it('is shown with the names of the checks that failed', () => {
    const checks = [
      { name: 'balance-is-sum-of-ledger', violations: 2 },
      { name: 'other', violations: 0 },
    ]
    const html = render(LastAudit({ audit: { finishedAt: new Date(0), tookMs: 1234, checks } }))
    expect(html).toContain('1 of 2 checks failed')
    expect(html).toContain('balance-is-sum-of-ledger')
    expect(render(LastAudit({ audit: undefined }))).toContain('None has ended yet')
  })
})
