import { beforeAll, describe, expect, it } from 'vitest'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { reportStore } from '../../../src/db/images/reports.js'
import { givenImages } from '../../support/given-images.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
const HOSTILE = '</p><script>alert(1)</script>'
let operator: Awaited<ReturnType<typeof givenOperator>>
let owner: GivenUser

beforeAll(async () => {
  const { db } = context.service
  ;[operator, owner] = [await givenOperator(db), await givenUser(db)]
})

const see = (path: string) => visit(context.service.url, path, { cookie: operator.cookie })
const act = (slug: string, name: string, body: Readonly<Record<string, string>>) =>
  visit(context.service.url, `/operator/reports/${slug}/${name}`, { cookie: operator.cookie, body })
const report = (slug: string, note = 'a note') => reportStore(context.service.db).add(slug, { reason: 'other', note })

async function givenReported(count = 1): Promise<string> {
  const [slug] = (await givenImages(context.service.db, owner, [{}])) as [string]
  for (let n = 0; n < count; n++) await report(slug)
  return slug
}

async function actsOn(slug: string) {
  const { rows } = await context.service.db.pool.query(
    'SELECT actor, action, reason FROM operator_actions WHERE target = $1 ORDER BY id',
    [slug],
  )
  return rows
}

/** The IDs of the reports that stand in the forms to dismiss them. */
const seenIn = (html: string) => [...html.matchAll(/name="up_to" value="(\d+)"/g)].map(([, id]) => id as string)

describe('the reports of visitors', () => {
  it('are shown by image, the newest report first, with picture, account and generation', async () => {
    const [older, newer] = [await givenReported(), await givenReported()]
    await report(older, `the newest ${HOSTILE}`)
    const { html } = await see('/operator/reports')
    expect(html.indexOf(older)).toBeLessThan(html.indexOf(newer))
    expect(html).toContain(`src="/cdn/${older}.webp"`)
    expect(html).toContain(`/operator/users/${owner.username}`)
    expect(html).toMatch(/\/operator\/generations\/gen_\w{26}/)
    expect(html).not.toContain('<script>alert')
    expect(textOf(html)).toContain(HOSTILE)
  })

  it('that are only counted are told beside the one they are counted with', async () => {
    const slug = await givenReported(12)
    const card = (await see('/operator/reports')).html.split('<article').find((it) => it.includes(slug)) ?? ''
    expect(textOf(card).match(/and 2 more reports for this reason/g)).toHaveLength(1)
  })

  it('are read page by page', async () => {
    const slugs = await givenImages(context.service.db, owner, Array(25).fill({}))
    for (const slug of slugs) await report(slug)
    const seen: string[] = []
    let path: string | undefined = '/operator/reports'
    while (path) {
      const { html } = await see(path)
      seen.push(...[...html.matchAll(/id="image-(\w{22})"/g)].map(([, slug]) => slug as string))
      path = /href="([^"]+)">Next page/.exec(html)?.[1]
    }
    expect(seen.filter((slug) => slugs.includes(slug))).toEqual([...slugs].reverse())
    expect(new Set(seen).size).toBe(seen.length)
    expect((await see('/operator/reports?before=x&done=x')).status).toBe(200)
  })

  it('are counted on the overview, by image', async () => {
    const { db } = context.service
    await db.pool.query('DELETE FROM image_reports')
    await givenReported(3)
    await givenReported()
    await until(async () => textOf((await see('/operator')).html).includes('Visitors have reported 2 images'))
  })

  it('are for operators only', async () => {
    const { db, url } = context.service
    const slug = await givenReported()
    const cookie = await givenSession(db, owner)
    expect((await visit(url, '/operator/reports', { cookie })).status).toBe(404)
    const body = { reason: 'mine' }
    expect((await visit(url, `/operator/reports/${slug}/dismiss`, { cookie, body })).status).toBe(404)
    expect((await see('/operator/reports')).html).toContain(slug)
  })
})

describe('a reported image', () => {
  it('is taken down with a reason, which closes its reports', async () => {
    const slug = await givenReported(2)
    const unexplained = await act(slug, 'take-down', { reason: ' ' })
    expect(unexplained.status).toBe(400)
    expect(textOf(unexplained.html)).toContain('Say why in one line')
    const { status, location } = await act(slug, 'take-down', { reason: 'shows a real person' })
    expect({ status, location }).toEqual({ status: 303, location: '/operator/reports?done=removed' })
    const { html } = await see(location as string)
    expect(textOf(html)).toContain('The image is removed, and its reports are closed.')
    expect(html).not.toContain(slug)
    expect(await actsOn(slug)).toEqual([
      { actor: operator.username, action: 'removed image', reason: 'shows a real person' },
    ])
    expect((await visit(context.service.url, `/image/${slug}`)).status).toBe(410)
  })

  it('stays when its reports are dismissed; one that came after the page was loaded stays open', async () => {
    const slug = await givenReported(2)
    const [newest] = seenIn((await see('/operator/reports')).html)
    await report(slug, 'came later')
    const { location } = await act(slug, 'dismiss', { reason: 'harmless', up_to: newest as string })
    expect(location).toBe('/operator/reports?done=dismissed')
    const { html } = await see(location as string)
    expect(html).toContain('came later')
    expect(await actsOn(slug)).toEqual([
      { actor: operator.username, action: 'dismissed 2 reports of an image', reason: 'harmless' },
    ])
    expect((await act(slug, 'dismiss', { reason: 'harmless' })).status).toBe(303)
    expect((await see('/operator/reports')).html).not.toContain(slug)
    const again = await act(slug, 'dismiss', { reason: 'harmless' })
    expect(again.status).toBe(404)
    expect(textOf(again.html)).toContain(`Image "${slug}" has no open report.`)
    expect((await act('%00', 'dismiss', { reason: 'harmless' })).status).toBe(404)
    expect((await visit(context.service.url, `/image/${slug}`)).status).toBe(200)
  })
})

it('reports are deleted after 90 days, unless they are still open', async () => {
  const { db } = context.service
  const [open, dismissed, removed, recent] = [
    await givenReported(),
    await givenReported(),
    await givenReported(),
    await givenReported(),
  ]
  for (const slug of [dismissed, recent]) await act(slug, 'dismiss', { reason: 'harmless' })
  await imageRemovals(db).remove(removed, 'test')
  await db.pool.query(`UPDATE image_reports SET at = now() - interval '91 days' WHERE slug <> $1`, [recent])
  await reconcileStore(db, { refundFailed: true }).clean()
  const { rows } = await db.pool.query('SELECT slug FROM image_reports WHERE slug = ANY ($1)', [
    [open, dismissed, removed, recent],
  ])
  expect(rows.map(({ slug }) => slug).sort()).toEqual([open, recent].sort())
})
