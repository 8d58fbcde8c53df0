import { describe, expect, it } from 'vitest'
import { givenOperatorKey } from '../../http/admin-api/given-operator-key.js'
import { givenFiles, givenImages } from '../../support/given-images.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { unzipped } from '../../support/unzip.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService({ env: { SITE_LANGUAGES: 'en,de' } })

async function given(images = 2) {
  const { db, url, config } = context.service
  const user = await givenUser(db)
  const slugs = await givenImages(db, user, Array(images).fill({ prompt: 'a fox at dawn' }))
  await givenFiles(config, slugs)
  const cookie = await givenSession(db, user)
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const ask = (signal?: AbortSignal) =>
    fetch(`${url}/account/export`, { method: 'POST', headers, signal: signal ?? null })
  return { user, slugs, cookie, ask, page: (more = {}) => visit(url, '/account', { cookie, headers: more }) }
}

describe('the export of one’s account', () => {
  it('is downloaded with a button, images included, and says what is in it', async () => {
    const { user, slugs, ask, page } = await given()
    const { html } = await page()
    expect(html).toContain('action="/account/export"')
    expect(textOf(html)).toContain('Download your data')
    expect(textOf((await page({ 'accept-language': 'de' })).html)).toContain('Deine Daten herunterladen')
    const answer = await ask()
    expect(answer.headers.get('content-disposition')).toContain(`filename="easel-${user.username}.zip"`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    // nginx would keep 1 GB of it, and then read nothing for longer than this server waits.
    expect(answer.headers.get('x-accel-buffering')).toBe('no')
    const files = unzipped(Buffer.from(await answer.arrayBuffer()))
    expect([...files.keys()].at(0)).toBe('README.txt')
    for (const name of [...files.keys()].slice(1)) {
      if (name.endsWith('.json')) expect(Array.isArray(JSON.parse(String(files.get(name))))).toBe(true)
      expect(String(files.get('README.txt'))).toContain(name.replace(/[^/]+\.png$/, ''))
    }
    for (const slug of slugs) expect(files.has(`images/${slug}.png`)).toBe(true)
  })

  it('is made once at a time, and another one begins when it has ended or was given up', async () => {
    const { user, ask } = await given(300)
    const isHeld = async () =>
      (await context.service.db.pool.query('SELECT FROM leases WHERE name = $1', [`export:${user.id}`])).rowCount === 1
    const leaving = new AbortController()
    const first = await ask(leaving.signal)
    const reader = first.body?.getReader()
    await reader?.read()
    expect(await isHeld()).toBe(true)
    const second = await ask()
    expect([second.status, textOf(await second.text())]).toEqual([
      429,
      expect.stringContaining('Another export of this account is being made'),
    ])
    // Somebody else's does not wait for it.
    await (await (await given(1)).ask()).arrayBuffer()
    leaving.abort()
    await until(async () => !(await isHeld()), 'the end of the first')
    const third = await ask()
    expect(unzipped(Buffer.from(await third.arrayBuffer())).size).toBeGreaterThan(300)
    expect(await isHeld()).toBe(false)
  })

  it('is for who is signed in, and for operator keys', async () => {
    const { url, db } = context.service
    const signedOut = await visit(url, '/account/export', { body: {} })
    expect(signedOut.location).toMatch(/^\/sign-in/)
    const { user, slugs } = await given()
    const { key } = await givenOperatorKey(db, 'read')
    const path = `${url}/admin/v1/accounts/${user.username}/export`
    expect((await fetch(path, { headers: { authorization: `Bearer ${user.key}` } })).status).toBe(403)
    const answer = await fetch(path, { headers: { authorization: `Bearer ${key}` } })
    expect(answer.headers.get('content-type')).toBe('application/zip')
    const files = unzipped(Buffer.from(await answer.arrayBuffer()))
    for (const slug of slugs) expect(files.has(`images/${slug}.png`)).toBe(true)
    expect(
      (await fetch(`${url}/admin/v1/accounts/nobody/export`, { headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(404)
  })
})
