import { describe, expect, it } from 'vitest'
import { call, expectCreateError, expectPersonalError } from '../../support/client.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

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

describe('a path with doubled slashes or one at its end', () => {
  it.each([
    ['GET', '/api/v1/account/', '/api/v1/account'],
    ['GET', '//api/v1/account', '/api/v1/account'],
    ['GET', '/api//v1/models?a=b', '/api/v1/models'],
    ['POST', '/api/v1/generate/', '/api/v1/generate'],
    ['POST', '/api/v1/generate//', '/api/v1/generate'],
    ['GET', '/api/v1/generate/gen_x/', '/api/v1/generate/gen_x'],
    ['GET', '/health/', '/health'],
  ])('is a 404 that names it and the right one: %s %s', async (method, path, right) => {
    const headers = { accept: 'text/html' }
    const named = new RegExp(`^No such endpoint: ${method} ${path.split('?', 1)[0]}\\. Did you mean ${right}\\?$`)
    const program = await call(context.service.url, method, path, { key: await keyOf() })
    expectPersonalError(program, 404, named)
    if (path.includes('api'))
      expectPersonalError(await call(context.service.url, method, path, { headers }), 404, named)
  })

  it('is told in the shapes of Create Image, OpenAI and the agents’ endpoint, too', async () => {
    const [key, { url }] = [await keyOf(), context.service]
    for (const path of ['/v1/images/generate/', '//v1/images/generate', '/v1//images/generate'])
      expectCreateError(
        await call(url, 'POST', path, { key }),
        ...([404, 'not_found', /Did you mean \/v1\/images\/generate\?$/] as const),
      )
    for (const [method, path] of [
      ['POST', '/v1//images/generations/'],
      ['GET', '//v1/models'],
      ['GET', '/v1/models/x/'],
    ])
      expect(await call(url, method as string, path as string, { key })).toMatchObject({
        status: 404,
        body: {
          error: { type: 'invalid_request_error', message: expect.stringMatching(/Did you mean \/v1\/\w+(\/\w+)?\?$/) },
        },
      })
    expect(await call(url, 'POST', '/mcp/', { key, body: {} })).toMatchObject({
      ...{ status: 404, body: { jsonrpc: '2.0', error: { message: expect.stringMatching(/Did you mean \/mcp\?$/) } } },
    })
  })

  it.each([
    ['GET', '/api/v1/models/', '/api/v1/models'],
    ['GET', '/api/v1/images/', '/api/v1/images'],
    ['GET', '/api/v1/images/?limit=3', '/api/v1/images'],
    ['GET', '/api/v1/generations/', '/api/v1/generations'],
    ['GET', '/api/v1/credits/', '/api/v1/credits'],
    ['GET', '/api/v1/webhooks/', '/api/v1/webhooks'],
    ['GET', '/api/v1/webhooks//', '/api/v1/webhooks'],
    ['POST', '/api/v1/webhooks/', '/api/v1/webhooks'],
    ['GET', '/api/v1/capabilities/', '/api/v1/capabilities'],
    ['GET', '/v1/models/', '/v1/models'],
    ['GET', '/v1/models//', '/v1/models'],
    ['HEAD', '/v1/models/', '/v1/models'],
    ['POST', '/v1/images/generations/', '/v1/images/generations'],
  ])('is a 404 that names the list, though an ID could follow: %s %s', async (method, path, right) => {
    const answer = await call(context.service.url, method, path, {
      key: await keyOf(),
      ...(method === 'POST' && { body: {} }),
    })
    expect([answer.status, answer.headers.get('x-error-code')]).toEqual([404, 'not_found'])
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    if (method === 'HEAD') return
    const message = `No such endpoint: ${method} ${path.split('?', 1)[0]}. Did you mean ${right}?`
    const openAi = { error: { message, type: 'invalid_request_error', param: null, code: 'not_found' } }
    expect(answer.body).toEqual(path.startsWith('/v1') ? openAi : { error: message })
  })

  it.each([
    ['POST', '/images/generations', '/v1/images/generations'],
    ['POST', '/v1/v1/images/generations', '/v1/images/generations'],
    ['POST', '/api/v1/images/generations', '/v1/images/generations'],
    ['POST', '/openai/v1/images/generations', '/v1/images/generations'],
    ['GET', '/models', '/v1/models'],
    ['POST', '/v1/images/generations/images/generations', '/v1/images/generations'],
    ['POST', '/api/v1/generate/generate', '/api/v1/generate'],
    ['POST', '/v1/generate', '/api/v1/generate'],
    ['POST', '/api/generate', '/api/v1/generate'],
    ['POST', '/api/v2/generate', '/api/v1/generate'],
  ])('is told from one under another base URL: %s %s', async (method, path, right) => {
    const answer = await call(context.service.url, method, path, { key: await keyOf() })
    expect(answer.status).toBe(404)
    expect(JSON.stringify(answer.body)).toContain(`Did you mean ${right}?`)
  })

  it.each([
    ['DELETE', '/api/v1/images/'],
    ['DELETE', '/api/v1/webhooks/'],
    ['POST', '/api/v1/generate//cancel'],
    ['POST', '/api/v1/webhooks//test'],
    ['POST', '/api/v1/webhooks//rotate-secret'],
    ['GET', '/api/v1/webhooks//deliveries'],
    ['GET', '/api/v1/generate//events'],
    ['GET', '/api/v1/images//file'],
    ['GET', '/cdn/'],
  ])('has no ID in it: %s %s', async (method, path) => {
    const answer = await call(context.service.url, method, path, { key: await keyOf() })
    expect([answer.status, answer.body.error]).toEqual([404, expect.stringContaining(path)])
  })

  it('still says that an ID is missing', async () => {
    const answer = await call(context.service.url, 'GET', '/api/v1/generate/', { key: await keyOf() })
    expectPersonalError(answer, 400, /^Generation ID is missing/)
  })

  it('suggests nothing where there is nothing either', async () => {
    const answer = await call(context.service.url, 'GET', '/api/v1//nothing/', { key: await keyOf() })
    expectPersonalError(answer, 404, /^No such endpoint: GET \/api\/v1\/\/nothing\/\.$/)
  })
})
