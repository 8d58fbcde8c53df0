import { beforeAll, describe, expect, it } from 'vitest'
import { reportStore } from '../../../src/db/images/reports.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { type GivenUser, givenGeneration, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration, standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperator>>
let user: GivenUser
let running: string
let failed: string
/** Of an image that is there, and of one that was removed. */
let kept: string
let removed: string

const see = (path: string) => visit(context.service.url, path, { cookie: operator.cookie })
const send = async (path: string, body: Readonly<Record<string, string>>) => {
  const { status } = await visit(context.service.url, path, {
    cookie: operator.cookie,
    body: { reason: 'why', ...body },
  })
  expect(status).toBe(303)
}

/** Everything that the console lists, and acts of many kinds. */
beforeAll(async () => {
  const { db } = context.service
  operator = await givenOperator(db)
  user = await givenUser(db)
  const ended = await givenEndedGeneration(db, user, { batchSize: 2 })
  ;[kept, removed] = ended.slugs as [string, string]
  failed = (await givenEndedGeneration(db, user, {}, 'fail')).id
  const canceled = await givenGeneration(db, user)
  const theirs = `/operator/users/${user.username}`
  await send(`/operator/generations/${canceled.id}/cancel`, {})
  await send('/operator/images', { image: removed })
  await send(`${theirs}/credits`, { amount: '5' })
  await send(`${theirs}/subscription`, { plan: 'Theirs', status: 'active', end_date: '' })
  await send(`${theirs}/email`, { email: 'user@mail.test' })
  await send(`${theirs}/sessions/end`, {})
  await send(`${theirs}/keys/revoke`, { id: user.keyId })
  await send('/operator/plans', { name: 'Theirs', credits: '5', period: 'month', unspent: 'expire', allowed: 'all' })
  await send(`/operator/models/${MODEL.id}`, { price: '3', enabled: 'yes' })
  await send('/operator/pause', { what: `model ${MODEL.filename}` })
  await send('/operator/resume', { what: `model ${MODEL.filename}` })
  await reportStore(db).add(kept, { reason: 'other', note: 'a note' })
  await db.pool.query(
    `INSERT INTO refused_prompts (user_id, parameter, category, matched, prompt) VALUES ($1, 'prompt', 'test', '{}', 'p')`,
    [user.id],
  )
  const { rows } = await db.pool.query('SELECT id FROM refused_prompts WHERE user_id = $1', [user.id])
  await send(`/operator/moderation/${rows[0].id}/wrong`, {})
  await givenGeneration(db, await givenUser(db))
  running = (await standInWorker(db).claim()).id
})

const ID = /gen_[0-9a-z]{26}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** What a page shows outside of its links. */
const unlinked = (html: string) =>
  textOf(html.replace(/<a [^>]*>.*?<\/a>/gs, '').replace(/<bdi class="hidden-visually">.*?<\/bdi>/gs, ''))

describe('on each page of the console', () => {
  it('what names an account, a generation, a key or an image leads to it', async () => {
    const pages = [
      ...['/operator', '/operator/live', '/operator/users', '/operator/figures', '/operator/models', '/operator/plans'],
      ...['/operator/images', '/operator/images/removed', '/operator/reports', '/operator/moderation', '/operator/log'],
    ]
    // Snapshots may be from before.
    await until(async () => (await see('/operator/live')).html.includes(running), 'the overview to have what runs')
    for (const path of pages) {
      const text = unlinked((await see(path)).html)
      const bare = [...text.matchAll(ID)].map(([id]) => id)
      expect({ path, bare }).toEqual({ path, bare: [] })
      for (const name of [kept, removed, user.username]) expect(text, path).not.toContain(name)
    }
  })

  it('only its own subject is no link', async () => {
    const { db } = context.service
    const { rows } = await db.pool.query('SELECT id FROM generations WHERE user_id = $1', [user.id])
    for (const { id } of rows) {
      const text = unlinked((await see(`/operator/generations/${id}`)).html)
      expect([...text.matchAll(ID)].map(([it]) => it)).toEqual([id])
      expect(text).not.toContain(user.username)
    }
    const page = unlinked((await see(`/operator/users/${user.username}`)).html)
    expect([...page.matchAll(ID)].map(([it]) => it)).toEqual([user.id])
  })

  it('links lead to pages that there are', async () => {
    const pages = ['/operator/log', '/operator/images/removed', '/operator/reports', `/operator/generations/${failed}`]
    const links = new Set<string>()
    for (const path of pages) {
      for (const [, href = ''] of (await see(path)).html.matchAll(/href="(\/operator\/[^"#]*)/g))
        links.add(href.replaceAll('&amp;', '&'))
    }
    expect(links.size).toBeGreaterThan(10)
    for (const link of links)
      expect({ link, status: (await see(link)).status }).toEqual({
        link,
        status: expect.toSatisfy((it) => it === 200 || it === 303),
      })
  })
})

describe('the log', () => {
  it('leads from each act to what it was done to', async () => {
    const { html } = await see('/operator/log')
    const place = (act: string) => {
      const row = (html.match(/<tr>.*?<\/tr>/gs) ?? []).find((it) => textOf(it).includes(act)) ?? ''
      return [...row.matchAll(/href="([^"]*)"/g)].map(([, href]) => href?.replaceAll('&amp;', '&'))
    }
    const [by, theirs] = [`/operator/users/${operator.username}`, `/operator/users/${user.username}`]
    expect(place('granted 5 credits')).toEqual([by, theirs])
    expect(place('revoked key')).toEqual([by, `${theirs}#key-${user.keyId}`, theirs])
    expect(place('removed image')).toEqual([by, `/operator/images/${removed}`])
    expect(place('canceled generation')).toEqual([by, expect.stringMatching(/^\/operator\/generations\/gen_/)])
    expect(place('set the subscription')).toEqual([by, theirs])
    expect(place('changed the email')).toEqual([by, theirs])
    expect(place('ended all sessions')).toEqual([by, theirs])
    expect(place('set the price to 3')).toEqual([by, `/operator/models/${MODEL.id}`])
    expect(place('paused model')).toEqual([by, '/operator/models'])
    expect(place('saved plan')).toEqual([by, '/operator/plans?plan=Theirs#plan'])
    expect(place('as wrong')).toEqual([
      by,
      expect.stringMatching(/^\/operator\/moderation\?user=.*#refusal-\d+$/),
      theirs,
    ])
  })
})

it('an image leads to its generation, also when it was removed', async () => {
  for (const slug of [kept, removed]) {
    const { status, location } = await see(`/operator/images/${slug}`)
    expect({ status, location }).toEqual({
      ...{ status: 303, location: expect.stringMatching(/^\/operator\/generations\/gen_\w{26}#image-/) },
    })
    expect((await see(location as string)).html).toContain(`id="image-${slug}"`)
  }
  for (const slug of ['x', '%00', 'a'.repeat(22)]) expect((await see(`/operator/images/${slug}`)).status).toBe(404)
})
