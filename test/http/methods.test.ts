import { describe, expect, it } from 'vitest'
import { call, expectCreateError, expectPersonalError } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const keyOf = async () => (await givenUser(context.service.db)).key

describe('a method that a path does not take', () => {
  it.each([
    ['DELETE', '/api/v1/account', 'GET, HEAD'],
    ['PUT', '/api/v1/generate', 'GET, HEAD, POST'],
    ['POST', '/api/v1/generate/gen_x', 'GET, HEAD'],
    ['PATCH', '/api/v1/images/x', 'DELETE, GET, HEAD'],
    ['POST', '/cdn/x.png', 'GET, HEAD'],
    ['POST', '/health?a=b', 'GET, HEAD'],
    ['POST', '/image/x', 'GET, HEAD'],
  ])('is a 405 that names those it takes: %s %s', async (method, path, allowed) => {
    const answer = await call(context.service.url, method, path, { key: await keyOf() })
    expectPersonalError(answer, 405, new RegExp(`^Method ${method} is not allowed on .*: use ${allowed}\\.$`))
    expect(answer.headers.get('allow')).toBe(allowed)
  })

  it('is a 405 in the shapes of Create Image and OpenAI, too', async () => {
    const [key, { url }] = [await keyOf(), context.service]
    expectCreateError(await call(url, 'GET', '/v1/images/generate', { key }), 405, 'method_not_allowed', /use POST\.$/)
    const answer = await call(url, 'GET', '/v1/images/generations', { key })
    expect(answer.headers.get('allow')).toBe('POST')
    expect(answer.body.error).toEqual({
      ...{ type: 'invalid_request_error', code: 'method_not_allowed', param: null },
      message: expect.stringMatching(/use POST\.$/),
    })
  })

  it('is a 404 on a path that does not exist', async () => {
    const answer = await call(context.service.url, 'POST', '/api/v1/generate/a/b', { key: await keyOf() })
    expectPersonalError(answer, 404, /^No such endpoint: /)
  })
})
