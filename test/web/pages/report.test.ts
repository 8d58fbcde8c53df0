import { beforeAll, describe, expect, it } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { MAX_OPEN_REPORTS } from '../../../src/core/images/reports.js'
import { withTransaction } from '../../../src/db/client.js'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { reportStore } from '../../../src/db/images/reports.js'
import { givenImages } from '../../support/given-images.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService({ env: { TRUST_PROXY: '127.0.0.0/8,::1' } })
let owner: GivenUser

beforeAll(async () => {
  owner = await givenUser(context.service.db)
})

let visitors = 0
/** Somebody else each time: their address is one that the proxy tells. */
const visitor = () => ({ 'x-forwarded-for': `198.51.${(visitors >> 8) & 255}.${visitors++ & 255}` })

const givenImage = async () => (await givenImages(context.service.db, owner, [{}]))[0] as string
const send = (slug: string, body: Readonly<Record<string, string>>, headers = visitor(), cookie?: string) =>
  visit(context.service.url, `/image/${slug}/report`, { body, headers, cookie })
const reportsOf = async (slug: string) =>
  (await context.service.db.pool.query('SELECT * FROM image_reports WHERE slug = $1 ORDER BY id', [slug])).rows

describe('a report of a public image', () => {
  it('can be sent by anyone from the image’s page, and keeps nothing about who sent it', async () => {
    const { db, url } = context.service
    const slug = await givenImage()
    const page = await visit(url, `/image/${slug}`)
    expect(page.html).toContain('Report this image')
    expect(page.html).toContain(`action="/image/${slug}/report"`)
    const sent = await send(slug, { reason: 'likeness', note: 'This is me.\r\nI was never asked.' })
    expect(sent).toMatchObject({ status: 303, location: `/image/${slug}/report?sent=` })
    expect(textOf((await visit(url, sent.location as string)).html)).toContain('Your report was received.')
    const other = await givenSession(db, await givenUser(db))
    expect((await send(slug, { reason: 'illegal', note: '' }, visitor(), other)).status).toBe(303)
    expect(await reportsOf(slug)).toEqual([
      expect.objectContaining({ reason: 'likeness', note: 'This is me.\nI was never asked.', dismissed_at: null }),
      expect.objectContaining({ reason: 'illegal', note: '' }),
    ])
    expect(Object.keys((await reportsOf(slug))[0]).sort()).toEqual(
      ['id', 'slug', 'at', 'reason', 'note', 'times', 'dismissed_at', 'dismissed_by'].sort(),
    )
  })

  it('is refused with what is wrong, and keeps what was typed', async () => {
    const slug = await givenImage()
    const refused = async (body: Readonly<Record<string, string>>) => {
      const { status, html } = await send(slug, body)
      expect(status).toBe(400)
      return html
    }
    const untold = await refused({ reason: '', note: 'typed <b>before</b>' })
    expect(untold).toContain('Choose what is wrong with the image.')
    expect(untold).toContain('typed &lt;b>before&lt;/b>')
    expect(await refused({ reason: 'toString', note: '' })).toContain('Choose what is wrong')
    expect(await refused({ reason: 'other', note: ' \n ' })).toContain('Say in the note what is wrong')
    const long = await refused({ reason: 'minors', note: 'x'.repeat(1001) })
    expect(long).toContain('The note may have 1000 characters.')
    expect(long).toContain('value="minors" selected')
    expect(await refused({ reason: 'minors', note: 'a\0b' })).toContain('characters that cannot be stored')
    expect((await send(slug, { reason: 'minors', note: `${'👍'.repeat(999)}\r\n!` })).status).toBe(400)
    expect((await send(slug, { reason: 'minors', note: `${'👍'.repeat(998)}\r\n!` })).status).toBe(303)
    expect(await reportsOf(slug)).toHaveLength(1)
  })

  it('is not for the owner, who can delete the image', async () => {
    const { db, url } = context.service
    const slug = await givenImage()
    const cookie = await givenSession(db, owner)
    expect((await visit(url, `/image/${slug}`, { cookie })).html).not.toContain('Report this image')
    const sent = await send(slug, { reason: 'illegal', note: '' }, visitor(), cookie)
    expect(sent.status).toBe(400)
    expect(textOf(sent.html)).toContain('This is your own image: delete it on its page instead.')
    expect(await reportsOf(slug)).toEqual([])
  })

  it('is answered with 404 where there is no such image, or none any more', async () => {
    const { db, url } = context.service
    const removed = await givenImage()
    await imageRemovals(db).remove(removed, 'test')
    for (const slug of [newSlug(), 'x', '%00', removed]) {
      expect((await send(slug, { reason: 'illegal', note: '' })).status).toBe(404)
      expect((await visit(url, `/image/${slug}/report`)).status).toBe(404)
    }
    expect(await reportStore(db).add(removed, { reason: 'illegal', note: '' })).toBe(false)
  })

  it('is refused when another website sends it', async () => {
    const slug = await givenImage()
    const headers = { ...visitor(), 'sec-fetch-site': 'cross-site' }
    expect((await send(slug, { reason: 'illegal', note: '' }, headers)).status).toBe(403)
    expect(await reportsOf(slug)).toEqual([])
  })
})

describe('the limits of reports', () => {
  it('let one network send a few an hour, and others theirs', async () => {
    const slugs = await givenImages(context.service.db, owner, Array(11).fill({}))
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    const answers = []
    for (const slug of slugs) answers.push((await send(slug, { reason: 'other', note: 'typed' }, headers)).status)
    expect(answers).toEqual([...Array(10).fill(303), 429])
    const [slug] = slugs as [string]
    const { html } = await send(slug, { reason: 'other', note: 'typed' }, headers)
    expect(textOf(html)).toContain('Too many reports came from here. Wait an hour, then send it again.')
    expect(html).toContain('typed')
    expect((await send(slug, { reason: 'other', note: 'typed' })).status).toBe(303)
  })

  it('let one network report an image twice an hour, and keep what was typed', async () => {
    const slug = await givenImage()
    const headers = { 'x-forwarded-for': '203.0.113.77' }
    const sent = () => send(slug, { reason: 'other', note: 'typed' }, headers)
    expect([(await sent()).status, (await sent()).status]).toEqual([303, 303])
    const { status, html } = await sent()
    expect(status).toBe(429)
    expect(textOf(html)).toContain('This image was reported from here already, and the operators will look at it.')
    expect(html).toContain('typed')
    expect((await send(slug, { reason: 'other', note: 'typed' })).status).toBe(303)
    expect((await send(await givenImage(), { reason: 'other', note: 'typed' }, headers)).status).toBe(303)
    expect(await reportsOf(slug)).toHaveLength(3)
  })

  it('count a report that another server is just adding', async () => {
    const { db } = context.service
    const slug = await givenImage()
    const reports = reportStore(db)
    for (let n = 1; n < MAX_OPEN_REPORTS; n++) await reports.add(slug, { reason: 'illegal', note: '' })
    let added: Promise<boolean> | undefined
    // Holds what the statements of a report hold until its transaction ends.
    await withTransaction(db, async (_tx, client) => {
      await client.query('SELECT FROM images WHERE slug = $1 FOR NO KEY UPDATE', [slug])
      await client.query(`INSERT INTO image_reports (slug, reason) VALUES ($1, 'illegal')`, [slug])
      added = reports.add(slug, { reason: 'illegal', note: 'one too many' })
      await until(
        async () => (await db.pool.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)).rowCount,
        'the other report to wait',
      )
    })
    expect(await added).toBe(true)
    expect(await reportsOf(slug)).toHaveLength(MAX_OPEN_REPORTS)
  })

  it('lose no report that comes while an operator dismisses the others', async () => {
    const { db } = context.service
    const slug = await givenImage()
    const reports = reportStore(db)
    for (let n = 0; n < MAX_OPEN_REPORTS; n++) await reports.add(slug, { reason: 'illegal', note: '' })
    let added: Promise<boolean> | undefined
    await withTransaction(db, async (_tx, client) => {
      await client.query('UPDATE image_reports SET dismissed_at = now() WHERE slug = $1', [slug])
      added = reports.add(slug, { reason: 'illegal', note: 'still there' })
      await until(
        async () => (await db.pool.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)).rowCount,
        'the report to wait',
      )
    })
    expect(await added).toBe(true)
    const open = (await reportsOf(slug)).filter((row) => row.dismissed_at === null)
    expect(open).toEqual([expect.objectContaining({ note: 'still there', times: 1 })])
  })

  it('keep ten open ones of an image, and count further ones, however many come at once', async () => {
    const slug = await givenImage()
    const answers = await Promise.all(Array.from({ length: 25 }, () => send(slug, { reason: 'illegal', note: '' })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([303]))
    const times = async () => (await reportsOf(slug)).map((row) => row.times)
    expect(await times()).toEqual([...Array(MAX_OPEN_REPORTS - 1).fill(1), 16])
    await context.service.db.pool.query(`UPDATE image_reports SET dismissed_at = now() WHERE slug = $1`, [slug])
    await send(slug, { reason: 'illegal', note: 'again' })
    expect(await times()).toEqual([...Array(MAX_OPEN_REPORTS - 1).fill(1), 16, 1])
  })

  it('keep the first report for each reason with its note, however many there are for others', async () => {
    const slug = await givenImage()
    for (let n = 0; n < MAX_OPEN_REPORTS; n++) await send(slug, { reason: 'other', note: 'junk' })
    await send(slug, { reason: 'likeness', note: 'This is me.' })
    await send(slug, { reason: 'likeness', note: 'It still is.' })
    const kept = (await reportsOf(slug)).slice(MAX_OPEN_REPORTS)
    expect(kept).toEqual([expect.objectContaining({ reason: 'likeness', note: 'This is me.', times: 2 })])
  })
})
