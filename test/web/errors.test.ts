import { describe, expect, it } from 'vitest'
import { givenOperator, givenSession } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { visit } from '../support/website-client.js'

const context = useService()

async function ask(method: string, path: string, accept = 'text/html,*/*') {
  const answer = await fetch(context.service.url + path, { method, headers: { accept }, redirect: 'manual' })
  const { status, headers } = answer
  return { status, headers, text: await answer.text() }
}

describe('an error page', () => {
  it('has the header of who is signed in, wherever nothing is, and that of a stranger for others', async () => {
    const { url, db } = context.service
    const cookie = await givenSession(db, await givenUser(db, { credits: 7 }))
    const missing = [
      ['/nowhere', 'GET', 404],
      ['/gallery/nowhere/at/all', 'GET', 404],
      ['/account', 'PUT', 405],
      ['/docs', 'DELETE', 405],
      [`/image/${'0'.repeat(22)}`, 'GET', 404],
      ['/operator', 'GET', 404],
    ] as const
    for (const [path, method, status] of missing) {
      const { html, ...page } = await visit(url, path, { cookie }, method)
      expect([path, page.status]).toEqual([path, status])
      expect(html).toMatch(/<b>7<\/b> credits/)
      expect(html).toContain('action="/sign-out"')
      expect(html).toContain('href="/gallery"')
    }
    for (const other of [undefined, 'easel=x', 'other=%', `${cookie}x`]) {
      const { html } = await visit(url, '/nowhere', { cookie: other })
      expect(html).toContain('href="/sign-in"')
      expect(html).not.toContain('/sign-out')
    }
    expect((await visit(url, '/nowhere', { cookie: (await givenOperator(db)).cookie })).html).toContain(
      'href="/operator"',
    )
  })

  it('is kept by no cache, on whatever path', async () => {
    const paths = ['/nowhere', '/nowhere.png', '/assets/nothing.css', '/cdn/nothing.png', '/covers/x/y.webp', '/docs/x']
    const endpoints = ['/api/v1/nothing', '/v1/images/generations', '/admin/v1/nothing', '/mcp', '/%zz']
    for (const accept of ['text/html,*/*', 'application/json'])
      for (const path of [...paths, ...endpoints]) {
        const { status, headers } = await ask('GET', path, accept)
        expect([path, status, headers.get('cache-control')]).toEqual([path, expect.any(Number), 'no-store'])
        expect(status).toBeGreaterThanOrEqual(400)
      }
  })

  it('is a page with the request’s ID for people, and JSON for programs', async () => {
    const { status, headers, text } = await ask('GET', '/nothing')
    expect(status).toBe(404)
    expect(text).toContain('<h1>Nothing here</h1>')
    expect(text).toContain(`<code>${headers.get('x-request-id')}</code>`)
    const program = await ask('GET', '/nothing', 'application/json')
    expect(JSON.parse(program.text)).toEqual({ error: 'No such endpoint: GET /nothing.' })
  })

  it('says on a page and in Allow which methods an address takes', async () => {
    const { status, headers, text } = await ask('GET', '/sign-out')
    expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    expect(text).toContain('<h1>Method not allowed</h1>')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    const program = await ask('DELETE', '/docs', '*/*')
    expect([program.status, program.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(JSON.parse(program.text)).toEqual({ error: 'Method DELETE is not allowed on /docs: use GET, HEAD.' })
  })

  it('gives a HEAD the status of a GET, without the page', async () => {
    for (const [path, status] of [
      ['/', 200],
      ['/docs', 200],
      ['/docs.md', 200],
      ['/nothing', 404],
    ] as const) {
      const answer = await ask('HEAD', path)
      expect([answer.status, answer.text]).toEqual([status, ''])
    }
  })

  it('shows a long or hostile address as text, cut to what fits', async () => {
    const { status, text } = await ask('GET', `/${'<script>'.repeat(1000)}`)
    expect(status).toBe(404)
    expect(text).not.toContain('<script>')
    const program = await ask('GET', `/${'a'.repeat(8000)}`, '*/*')
    expect([program.status, program.text.length < 200]).toEqual([404, true])
  })

  it('tells nothing internal if the server itself has failed', async () => {
    const { db } = context.service
    await db.pool.query('ALTER TABLE images RENAME TO kept; CREATE VIEW images AS SELECT * FROM kept WHERE 1 / 0 = 0')
    try {
      const { status, headers, text } = await ask('GET', `/image/${'a'.repeat(22)}`)
      expect(status).toBe(500)
      expect(text).toContain('The fault is ours.')
      expect(text).toContain(`<code>${headers.get('x-request-id')}</code>`)
      expect(text).not.toMatch(/removed_at|division|SELECT|postgres| at /i)
    } finally {
      await db.pool.query('DROP VIEW images; ALTER TABLE kept RENAME TO images')
    }
  })
})
