import { describe, expect, it } from 'vitest'
import { reportStore } from '../../src/db/images/reports.js'
import { givenImages } from '../support/given-images.js'
import { givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()

describe('reports', () => {
  it('lists open reports by image, the image with the newest report first', async () => {
    const user = await givenUser(easel.db)
    expect(await easel.text('reports list')).toBe('No open reports.')
    const [one, two] = (await givenImages(easel.db, user, [{}, {}])) as [string, string]
    const reports = reportStore(easel.db)
    await reports.add(one, { reason: 'other', note: 'first' })
    await reports.add(two, { reason: 'copyright', note: 'second' })
    await reports.add(one, { reason: 'minors', note: '' })
    expect(await easel.json('reports list')).toMatchObject([
      {
        ...{ slug: one, username: user.username, generation_id: expect.stringMatching(/^gen_/) },
        reports: [
          { id: expect.any(Number), at: expect.any(String), reason: 'minors', note: '', times: 1 },
          { reason: 'other', note: 'first' },
        ],
      },
      { slug: two, reports: [{ reason: 'copyright', note: 'second' }] },
    ])
    expect(await easel.json('reports list --limit 1')).toMatchObject([{ slug: one }])
    expect(await easel.text('reports list')).toContain('copyright')
  })

  it('dismisses those of an image that were looked at, once, and records it', async () => {
    const [slug] = (await givenImages(easel.db, await givenUser(easel.db), [{}])) as [string]
    const reports = reportStore(easel.db)
    for (const note of ['1', '2']) await reports.add(slug, { reason: 'other', note })
    const [{ reports: listed }] = await easel.json('reports list --limit 1')
    await reports.add(slug, { reason: 'other', note: 'came later' })
    expect(await easel.json(`reports dismiss ${slug} --up-to ${listed[0].id} --reason harmless`)).toEqual({
      ...{ slug, dismissed: 2 },
    })
    expect(await easel.json('reports list --limit 1')).toMatchObject([{ slug, reports: [{ note: 'came later' }] }])
    expect(await easel.text(`reports dismiss ${slug}`)).toBe(`1 report of image ${slug} dismissed.`)
    expect(await easel.error(`reports dismiss ${slug}`)).toBe(
      `Image "${slug}" has no open report: "easel reports list" shows what is reported.`,
    )
    expect(await easel.error('reports dismiss x')).toContain('has no open report')
    const { rows } = await easel.db.pool.query(
      'SELECT action, reason FROM operator_actions WHERE target = $1 ORDER BY id',
      [slug],
    )
    expect(rows).toEqual([
      { action: 'dismissed 2 reports of an image', reason: 'harmless' },
      { action: 'dismissed 1 report of an image', reason: '' },
    ])
  })
})
