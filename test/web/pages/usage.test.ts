import { describe, expect, it } from 'vitest'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { unguarded } from '../../support/unguarded.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()

async function given(user?: GivenUser) {
  const { db, url } = context.service
  const owner = user ?? (await givenUser(db))
  const cookie = await givenSession(db, owner)
  return { user: owner, get: (path: string) => visit(url, path, { cookie }) }
}

async function givenMade(user: GivenUser, day: string) {
  const { db } = context.service
  const { id } = await givenEndedGeneration(db, user, { batchSize: 2 })
  await unguarded(db, 'UPDATE generations SET created_at = $1 WHERE id = $2', [`${day}T12:00:00Z`, id])
}

const tableAfter = (html: string, heading: string) => {
  const from = html.indexOf(heading)
  return [...html.slice(from, html.indexOf('</table>', from)).matchAll(/<tr>.*?<\/tr>/gs)].map(([row]) =>
    textOf(row.replaceAll('</td>', ' ')).trim(),
  )
}

describe('the usage page', () => {
  it('shows credits and images of each day, in a chart and in a table, and adds up by key and by model', async () => {
    const { user, get } = await given()
    const { db } = context.service
    await db.pool.query(`UPDATE api_keys SET name = '<b>shop' WHERE id = $1`, [user.keyId])
    await givenMade(user, '2026-03-01')
    await givenMade(user, '2026-03-03')
    const { html } = await get('/usage?from=2026-03-01&to=2026-03-03')
    expect(tableAfter(html, 'Credits spent')).toEqual(['Day (UTC)Credits', 'Mar 3 2', 'Mar 2 0', 'Mar 1 2'])
    expect(tableAfter(html, 'Images made')).toEqual(['Day (UTC)Images', 'Mar 3 2', 'Mar 2 0', 'Mar 1 2'])
    expect(html).toContain('From Mar 1 to Mar 3: 4 credits, most on Mar 1: 2')
    expect(tableAfter(html, '>By key<')[1]).toMatch(/^<b>shop easel_…\w{4} 2 4 4$/)
    expect(tableAfter(html, '>By model<')[1]).toBe(`${MODEL.modelName} 2 4 4`)
  })

  it('adds up by week where the time is longer than two months', async () => {
    const { user, get } = await given()
    await givenMade(user, '2026-01-01')
    for (const day of ['2026-03-02', '2026-03-08', '2026-03-10']) await givenMade(user, day)
    const { html } = await get('/usage?from=2026-01-01&to=2026-03-10')
    const weeks = tableAfter(html, 'Credits spent')
    expect(weeks.slice(0, 3)).toEqual(['Week (UTC)Credits', 'Mar 4 to Mar 10 4', 'Feb 25 to Mar 3 2'])
    expect(weeks.at(-1)).toBe('Jan 1 to Jan 6 2')
    expect(html).toContain('From Jan 1 to Mar 10: 8 credits, most from Mar 4 to Mar 10: 4')
  })

  it('is of the last 30 days unless it is said otherwise, and keeps to another account’s nothing', async () => {
    const { user, get } = await given()
    await givenMade(user, new Date().toISOString().slice(0, 10))
    expect(tableAfter((await get('/usage')).html, '>By model<')[1]).toBe(`${MODEL.modelName} 1 2 2`)
    expect((await get('/usage?from=&to=')).html).toContain('30 days')
    const other = await given()
    expect((await other.get('/usage')).html).toContain('Nothing was made in this time.')
  })

  it('says why it shows another time than was asked for', async () => {
    const { get } = await given()
    const wrong = await get('/usage?from=2026-03-02&to=2026-03-01')
    expect([wrong.status, textOf(wrong.html)]).toEqual([
      400,
      expect.stringContaining('The first day must not be after the last day.'),
    ])
  })

  it('says when the period of the plan ends, and what comes then', async () => {
    const { db } = context.service
    const user = await givenSubscriber(db, await givenPlan(db, { credits: 70 }))
    const { get } = await given(user)
    expect(textOf((await get('/usage')).html)).toMatch(/70 of them expire on .* you get 70 credits; what is left/)
  })

  it('begins its CSV with a mark, without which spreadsheets spoil umlauts; programs get none', async () => {
    const { user } = await given()
    const { db, url } = context.service
    await db.pool.query(`UPDATE api_keys SET name = 'Größe – 灯台' WHERE id = $1`, [user.keyId])
    await givenMade(user, '2026-03-01')
    const cookie = await givenSession(db, user)
    const bytesOf = async (path: string, headers: Record<string, string>) =>
      Buffer.from(await (await fetch(url + path, { headers })).arrayBuffer())
    const file = await bytesOf('/usage.csv?by=key&from=2026-03-01&to=2026-03-01', { cookie })
    expect(file.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]))
    const program = await bytesOf('/api/v1/usage?by=key&from=2026-03-01&to=2026-03-01&format=csv', {
      authorization: `Bearer ${user.key}`,
    })
    expect(file.subarray(3)).toEqual(program)
    expect(program.toString()).toMatch(/^key_id,key_name,.*Größe – 灯台/s)
  })

  it.each([
    ['de-DE,de;q=0.9,en;q=0.8', ';'],
    ['en;q=0.5, fr-FR', ';'],
    ['pt-BR', ';'],
    ['de-CH', ';'],
    ['en-US,en;q=0.9,de;q=0.8', ','],
    ['ja', ','],
    ['*', ','],
    ['nobody knows', ','],
  ])('has in its CSV what a spreadsheet separates cells by where browsers ask for %j', async (languages, separator) => {
    const { user } = await given()
    const { db, url } = context.service
    await db.pool.query(`UPDATE api_keys SET name = 'shop; old' WHERE id = $1`, [user.keyId])
    await givenMade(user, '2026-03-01')
    const cookie = await givenSession(db, user)
    const { html } = await visit(url, '/usage.csv?by=key&from=2026-03-01&to=2026-03-01', {
      cookie,
      headers: { 'accept-language': languages },
    })
    const [columns = '', row] = html.split('\r\n')
    expect(columns.split(separator)).toEqual(['key_id', 'key_name', 'generations', 'images', 'credits'])
    expect(row).toBe([user.keyId, '"shop; old"', 1, 2, 2].join(separator))
  })

  it('links to itself as CSV, by day, key and model', async () => {
    const { user, get } = await given()
    await givenMade(user, '2026-03-01')
    const { html } = await get('/usage?from=2026-03-01&to=2026-03-03')
    const links = [...html.matchAll(/href="(\/usage\.csv[^"]*)"/g)].map(([, href = '']) =>
      href.replaceAll('&amp;', '&'),
    )
    expect(links).toHaveLength(4)
    const byModel = await get(links.at(-1) as string)
    expect(byModel.html).toBe(
      `model_version_id,model_name,generations,images,credits\r\n${MODEL.id},${MODEL.modelName},1,2,2\r\n`,
    )
    expect(byModel.headers.get('content-disposition')).toBe(
      'attachment; filename="usage-by-model-2026-03-01-2026-03-03.csv"',
    )
    expect(byModel.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  })
})
