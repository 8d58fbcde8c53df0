import { describe, expect, it } from 'vitest'
import { call } from '../../support/client.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const ABSENT = `whe_${'0'.repeat(32)}`

/** What clients send when there is nothing to say. */
const BODIES: [string, { readonly body?: string; readonly type?: string }][] = [
  ['no body', {}],
  ['no body, but the type of one', { type: 'application/json' }],
  ['an empty body of a form', { body: '', type: 'application/x-www-form-urlencoded' }],
  ['an empty object', { body: '{}', type: 'application/json' }],
  ['something else', { body: 'x', type: 'text/plain' }],
]

describe.each(BODIES)('a request with %s', (_name, { body, type }) => {
  it.each([
    ['POST', '/api/v1/generate/gen_00000000000000000000000000/cancel'],
    ['POST', `/api/v1/webhooks/${ABSENT}/test`],
    ['POST', `/api/v1/webhooks/${ABSENT}/rotate-secret`],
    ['DELETE', `/api/v1/webhooks/${ABSENT}`],
    ['DELETE', '/api/v1/images/0000000000000000000000'],
  ])('reaches %s %s, which needs no body', async (method, path) => {
    const { key } = await givenUser(context.service.db)
    const answer = await call(context.service.url, method, path, {
      key,
      ...(body !== undefined && { body }),
      ...(type && { headers: { 'content-type': type } }),
    })
    expect(answer).toMatchObject({ status: 404, body: { error: expect.stringMatching(/not found/i) } })
  })
})
