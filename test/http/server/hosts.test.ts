import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { call, expectPersonalError, PROMPT } from '../../support/client.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

interface Sent {
  readonly host: string
  readonly key?: string
  readonly body?: unknown
}

/** fetch does not let its caller choose the Host. */
async function send(url: string, method: 'GET' | 'POST', path: string, { host, key, body }: Sent) {
  const answer = await request(`${url}${path}`, {
    method,
    headers: {
      host,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  const json = String(answer.headers['content-type']).includes('json')
  const headers = new Headers(
    Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return { status: answer.statusCode, body: json ? JSON.parse(text) : text, headers }
}

const PERSONAL: ['GET' | 'POST', string][] = [
  ['GET', '/api/v1/account'],
  ['GET', '/api/v1/models'],
  ['GET', '/api/v1/generate'],
  ['GET', '/api/v1/generate/gen_00000000000000000000000000'],
  ['POST', '/api/v1/generate'],
]
const SITE = 'easel.example'
const API = 'api.easel.example'

describe('where API_BASE_URL is another host', () => {
  const context = useService({
    env: { BASE_URL: `https://${SITE}`, API_BASE_URL: `https://${API}`, RATE_LIMIT_MAX: '1000' },
  })
  const to = async (host: string, method: 'GET' | 'POST', path: string, more: Partial<Sent> = {}) =>
    send(context.service.url, method, path, { host, ...more })

  it.each([SITE, `${SITE}:443`, SITE.toUpperCase()])(
    'the website’s host serves the Personal Access API (%s)',
    async (host) => {
      const { key } = await givenUser(context.service.db)
      expect(await to(host, 'GET', '/api/v1/account', { key })).toMatchObject({ status: 200 })
      expect(await to(host, 'GET', '/api/v1/models', { key })).toMatchObject({ status: 200 })
    },
  )

  it.each([API, `${API}:443`, API.toUpperCase()])('the other host serves Create Image (%s)', async (host) => {
    const { key } = await givenUser(context.service.db)
    const answer = await to(host, 'POST', '/v1/images/generate', { key, body: {} })
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: { parameter: 'prompt' } } })
  })

  it.each(PERSONAL)('the other host answers 404 to %s %s', async (method, path) => {
    const { key } = await givenUser(context.service.db)
    for (const host of [API, 'localhost', `${SITE}:8080`, `x${SITE}`, `${SITE}.evil.example`]) {
      const answer = await to(host, method, path, { key, ...(method === 'POST' && { body: PROMPT }) })
      expectPersonalError(answer, 404, /^No such endpoint: /)
    }
  })

  it.each([SITE, 'localhost', `${API}:80`, 'apiXeasel.example'])(
    'no other host serves Create Image (%s)',
    async (host) => {
      const { key } = await givenUser(context.service.db)
      const answer = await to(host, 'POST', '/v1/images/generate', { key, body: { prompt: 'x' } })
      expect(answer).toMatchObject({ status: 404, body: { success: false, error: { code: 'not_found' } } })
    },
  )

  it('the website’s host alone shows the pages of images', async () => {
    const path = `/image/${'0'.repeat(22)}`
    expect(await to(SITE, 'GET', path)).toMatchObject({ status: 404, body: expect.stringContaining('<!doctype html>') })
    expectPersonalError(await to(API, 'GET', path), 404, /^No such endpoint: /)
  })

  it('every host answers health checks and serves images', async () => {
    for (const host of [SITE, API, 'localhost', '10.0.0.7:3000']) {
      expect(await to(host, 'GET', '/health')).toMatchObject({ status: 200 })
      expect(await to(host, 'GET', '/ready')).toMatchObject({ status: 200 })
    }
  })

  it('a path that exists on neither is a 404 in the shape of the interface that it resembles', async () => {
    expectPersonalError(await to(SITE, 'GET', '/api/v1/nothing'), 404, /^No such endpoint: /)
    const answer = await to(API, 'GET', '/v1/nothing')
    expect(answer).toMatchObject({ status: 404, body: { success: false, error: { code: 'not_found' } } })
  })

  it('poll_url leads to BASE_URL', async () => {
    const owner = await givenUser(context.service.db)
    const { body } = await to(SITE, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
    expect(body.poll_url).toBe(`https://${SITE}/api/v1/generate/${body.id}`)
    const { pathname } = new URL(body.poll_url)
    expect(await to(SITE, 'GET', pathname, { key: owner.key })).toMatchObject({ status: 200, body: { id: body.id } })
  })
})

describe('where both interfaces share a host', () => {
  const context = useService({ env: { BASE_URL: 'https://easel.example' } })

  it('both answer to any host name', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    for (const host of ['easel.example', 'localhost:3000', '127.0.0.1']) {
      const { url } = context.service
      expect(await send(url, 'GET', `/api/v1/generate/${id}`, { host, key: owner.key })).toMatchObject({ status: 200 })
      expect(await send(url, 'POST', '/v1/images/generate', { host, key: owner.key, body: {} })).toMatchObject({
        status: 400,
      })
    }
    expect(await call(context.service.url, 'GET', '/health')).toMatchObject({ status: 200 })
  })
})
