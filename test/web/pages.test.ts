import { type Loader, transform } from 'esbuild'
import { expect, it } from 'vitest'
import { givenSession } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { memoryPayments } from '../support/memory-payments.js'
import { useService } from '../support/service.js'
import { OWN_PAGES } from './own-pages.js'

/** Something is sold. */
const context = useService({ server: { payment: { provider: memoryPayments(), graceDays: 3 } } })

it.each(OWN_PAGES)(
  '%s weighs less than 100 KB with its style and scripts, as the build minifies them',
  async (path) => {
    const { url, db } = context.service
    const user = await givenUser(db)
    await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [user.id])
    const answer = await fetch(url + path, { headers: { cookie: await givenSession(db, user), accept: 'text/html' } })
    expect(answer.status).toBe(200)
    const html = await answer.text()
    const loaded = [...html.matchAll(/<(?:link rel="stylesheet"|script)[^>]*(?:href|src)="(\/assets\/[^"]+)"/g)]
    expect(loaded.length).toBeGreaterThan(1)
    // Cloudflare's Rocket Loader leaves these alone: it would load them in a way that the page's policy forbids.
    for (const [script] of html.matchAll(/<script[^>]*>/g)) expect(script).toContain('data-cfasync="false"')
    const sizes = await Promise.all(
      loaded.map(async ([, asset = '']) => {
        const loader = asset.slice(asset.lastIndexOf('.') + 1) as Loader
        const { code } = await transform(await (await fetch(url + asset)).text(), { loader, minify: true })
        return Buffer.byteLength(code)
      }),
    )
    expect(sizes.reduce((sum, size) => sum + size, Buffer.byteLength(html))).toBeLessThan(100_000)
  },
)
