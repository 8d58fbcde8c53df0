import type { OpenAPI3 } from 'openapi-typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
const PATH = '/operator/api'
let html: string
let operations: { method: string; path: string; summary: string }[]

beforeAll(async () => {
  const { db, url } = context.service
  const { cookie } = await givenOperator(db)
  html = (await visit(url, PATH, { cookie })).html
  const { paths = {} }: OpenAPI3 = await (await fetch(`${url}/admin/v1/openapi.json`)).json()
  operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, { summary: string }>).map(([method, { summary }]) => ({
      ...{ method: method.toUpperCase(), path, summary },
    })),
  )
})

describe('the page of the administration’s API', () => {
  it('has every operation of its description, with its fields and a request in curl', () => {
    expect(operations.length).toBeGreaterThan(45)
    const text = textOf(html)
    for (const { method, path, summary } of operations) {
      expect(text).toContain(summary.replaceAll('`', ''))
      expect(html).toContain(`>${method}</b> <code>${path}</code>`)
    }
    expect(html).toContain('<dt>amount<dd><b>required </b>integer')
    const bodies = [...html.matchAll(/ -d '([^<]*)'<\/pre>/g)].map(([, body = '']) => JSON.parse(body))
    expect(bodies).toContainEqual({ amount: 100, reason: 'paid in cash' })
    expect(/.{60}undefined.{20}/s.exec(html)?.[0]).toBeUndefined()
  })

  it('has no link that leads nowhere, and no ID twice', () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const links = [...html.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id)
    expect(links.length).toBeGreaterThan(operations.length)
    expect(links.filter((id) => !ids.includes(id))).toEqual([])
  })

  it('is linked from the console, and is no page for who is no operator', async () => {
    const { db, url } = context.service
    const { cookie } = await givenOperator(db)
    expect((await visit(url, '/operator', { cookie })).html).toContain(`href="${PATH}"`)
    const user = await givenUser(db)
    expect((await visit(url, PATH, { cookie: await givenSession(db, user) })).status).toBe(404)
  })
})
