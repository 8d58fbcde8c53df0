import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { givenOperator } from '../support/given-sign-in.js'
import { useService } from '../support/service.js'
import { visit } from '../support/website-client.js'

const WEB = fileURLToPath(new URL('../../src/web/', import.meta.url))
const sources = readdirSync(WEB, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => readFileSync(WEB + file, 'utf8'))
const found = (pattern: RegExp) => sources.flatMap((source) => [...source.matchAll(pattern)])

/** Every page and form, and what fields and queries are called, as the code has them. */
const ROUTES = found(/\b\w+\.(get|post)\(\s*'(\/[^']*)'/g)
  .map(([, method, path]) => [method, path] as [string, string])
  // It reads nothing of the request, and has npm make the package.
  .filter(([, path]) => path !== '/client.tgz')
const NAMES = [
  ...new Set(found(/\bname="(\w+)"|^\s*(\w+): (?:z\b|text|line|reason|word|one)/gm).map(([, a, b]) => a ?? b)),
]

const context = useService({ env: { SIGN_UP: 'open', RATE_LIMIT_MAX: '10000' } })

it('no page takes a zero character or half a character pair to Postgres, which stores neither', async () => {
  const { url, db } = context.service
  expect([ROUTES.length, NAMES.length]).toEqual([expect.any(Number), expect.any(Number)])
  expect(Math.min(ROUTES.length, NAMES.length)).toBeGreaterThan(25)
  const failed: unknown[] = []
  for (const [text, reason] of [
    ['\0', 'because'],
    ['a\0b', 'because'],
    ['model a\0b', 'because'],
    ['backend \0', 'a\0b'],
  ] as const) {
    let operator = await givenOperator(db)
    for (const [method, path] of ROUTES) {
      const { cookie, username } = operator
      const fields = Object.fromEntries([...NAMES, 'what', 'q', 'user', 'category'].map((name) => [name, text]))
      const query = new URLSearchParams(fields)
      const place = path.replace(':username', username).replace(/:\w+/g, encodeURIComponent(text))
      const sent = method === 'post' ? { cookie, body: { ...fields, reason } } : { cookie }
      const { status } = await visit(url, `${place}?${query}`, sent)
      // Some of them end the session.
      if (method === 'post') operator = await givenOperator(db)
      if (status >= 500) failed.push(`${method} ${path}: ${status} to ${JSON.stringify(text)}`)
    }
  }
  expect(failed).toEqual([])
})
