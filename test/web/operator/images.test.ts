import { beforeAll, describe, expect, it } from 'vitest'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { givenImages } from '../../support/given-images.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperator>>

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})

const see = (path: string) => visit(context.service.url, path, { cookie: operator.cookie })
const remove = (body: Readonly<Record<string, string>>) =>
  visit(context.service.url, '/operator/images', { cookie: operator.cookie, body })

/** The slugs of the pictures, in their order. */
const shownIn = (html: string) => [...html.matchAll(/<img src="[^"]*\/cdn\/(\w{22})\.\w+"/g)].map(([, slug]) => slug)
const nextIn = (html: string) => /href="([^"]+)">Next page/.exec(html)?.[1]?.replaceAll('&amp;', '&')

async function all(): Promise<(string | undefined)[]> {
  const seen: (string | undefined)[] = []
  let path: string | undefined = '/operator/images'
  while (path) {
    const { html } = await see(path)
    seen.push(...shownIn(html))
    path = nextIn(html)
  }
  return seen
}

describe('the newest images', () => {
  it('of all accounts are shown page by page, with account and generation', async () => {
    const { db } = context.service
    const [one, two] = [await givenUser(db), await givenUser(db)]
    const first = await givenImages(db, one, Array(30).fill({ batchSize: 2 }))
    const second = await givenImages(db, two, [{ hasThumbnail: false, batchSize: 4 }])
    const { html } = await see('/operator/images')
    expect(shownIn(html).slice(0, 4)).toEqual(second)
    expect(html).toContain(`src="/cdn/${second[0]}.png"`)
    expect(html).toContain(`src="/cdn/${first.at(-1)}.webp"`)
    for (const user of [one, two]) expect(html).toContain(`/operator/users/${user.username}`)
    expect(html).toMatch(/href="\/operator\/generations\/gen_\w{26}"/)
    const seen = await all()
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining([...first, ...second]))
    expect((await see('/operator/images?before=x&image=%00&done=x')).status).toBe(200)
  })

  it('do not include removed ones, nor those that their owner has just deleted', async () => {
    const { db } = context.service
    const [removed, deleted, kept] = await givenImages(db, await givenUser(db), [{}, {}, {}])
    await imageRemovals(db).remove(removed as string, 'test')
    await db.pool.query('UPDATE images SET delete_at = now() WHERE slug = $1', [deleted])
    const seen = await all()
    expect(seen).toContain(kept)
    expect(seen).not.toContain(removed)
    expect(seen).not.toContain(deleted)
  })

  it('go on behind a page of which every image was removed', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const [oldest] = await givenImages(db, user, [{}])
    for (const slug of await givenImages(db, user, Array(24).fill({}))) await imageRemovals(db).remove(slug, 'test')
    const { html } = await see('/operator/images')
    expect(textOf(html)).toContain('All images of this page were removed.')
    expect(shownIn((await see(nextIn(html) as string)).html)[0]).toBe(oldest)
  })

  it('are for operators only', async () => {
    const cookie = await givenSession(context.service.db, await givenUser(context.service.db))
    for (const path of ['/operator/images', '/operator/images/removed'])
      expect((await visit(context.service.url, path, { cookie })).status).toBe(404)
  })
})

describe('removing one of them', () => {
  it('begins with its slug in the form, and comes back to the same page of the wall', async () => {
    const { db } = context.service
    const slugs = await givenImages(db, await givenUser(db), Array(25).fill({}))
    const second = nextIn((await see('/operator/images')).html) as string
    const [slug] = shownIn((await see(second)).html) as [string]
    expect(slugs).toContain(slug)
    const before = new URLSearchParams(second.split('?')[1]).get('before') as string
    const form = await see(`/operator/images?image=${slug}&before=${before}`)
    expect(form.html).toContain(`name="image" value="${slug}"`)
    expect(form.html).toContain(`class="chosen" src="/cdn/${slug}.png"`)
    const { status, location } = await remove({ image: slug, reason: 'shows a real person', before })
    expect({ status, location }).toEqual({ status: 303, location: `/operator/images?before=${before}&done=removed` })
    const { html } = await see(location as string)
    expect(textOf(html)).toContain('The image is removed.')
    expect(shownIn(html)).not.toContain(slug)
    const { rows } = await db.pool.query('SELECT actor, reason FROM operator_actions WHERE target = $1', [slug])
    expect(rows).toEqual([{ actor: operator.username, reason: 'shows a real person' }])
  })

  it('keeps what was typed when it is refused', async () => {
    const unknown = await remove({ image: 'a'.repeat(22), reason: 'my <reason>' })
    expect(unknown.status).toBe(404)
    expect(unknown.html).toContain(`value="${'a'.repeat(22)}"`)
    expect(unknown.html).toContain('value="my &lt;reason>"')
    expect((await remove({ image: 'typed', reason: '' })).html).toContain('value="typed"')
  })
})

it('the list of removed images is found at the address that it had', async () => {
  const { status, location } = await see('/operator/images?unfinished=yes')
  expect({ status, location }).toEqual({ status: 303, location: '/operator/images/removed?unfinished=yes' })
})
