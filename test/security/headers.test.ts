import { describe, expect, it } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService()

/** On each answer, whatever it is. */
const ALWAYS = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'x-request-id']
const LIMITED = ['limit', 'remaining', 'reset'].flatMap((name) => [`x-ratelimit-${name}`, `ratelimit-${name}`])
LIMITED.push('ratelimit-policy')
const PAGE = [
  ...['cache-control', 'content-security-policy', 'referrer-policy', 'x-content-type-options'],
  ...['cross-origin-opener-policy', 'permissions-policy'],
]
const ERROR = ['x-error-code', 'cache-control']

const ASKED: [string, string, 'key' | 'no key', number, string[]][] = [
  ['GET', '/', 'no key', 200, PAGE],
  ['GET', '/health', 'no key', 200, []],
  ['GET', '/image/none', 'no key', 404, PAGE],
  ['GET', '/cdn/none', 'no key', 404, ERROR],
  ['GET', '/nothing', 'no key', 404, ERROR],
  ['GET', '/openapi.json', 'no key', 200, ['access-control-allow-origin', 'cache-control']],
  ['GET', '/v1/nothing', 'no key', 404, ERROR],
  ['GET', '/llms.txt', 'no key', 200, ['access-control-allow-origin', 'cache-control']],
  ['OPTIONS', '/api/v1/generate', 'no key', 405, [...ERROR, 'allow']],
  ['GET', '/api/v1/account', 'no key', 401, [...ERROR, 'www-authenticate']],
  ['GET', '/api/v1/account', 'key', 200, LIMITED],
  ['GET', '/api/v1/models', 'key', 200, [...LIMITED, 'etag']],
  ['GET', '/api/v1/generate/none', 'key', 404, [...LIMITED, ...ERROR]],
  ['POST', '/api/v1/generate', 'key', 400, [...LIMITED, ...ERROR]],
  ['POST', '/v1/images/generate', 'key', 400, [...LIMITED, ...ERROR]],
  ['POST', '/mcp', 'key', 403, ERROR],
  ['GET', '/mcp', 'key', 405, [...ERROR, 'allow']],
]

const send = (method: string, path: string, key?: string) =>
  fetch(`${context.service.url}${path}`, {
    method,
    headers: {
      origin: 'https://elsewhere.example',
      'access-control-request-method': 'POST',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  })

function namesOf({ headers }: Response): string[] {
  const names: string[] = []
  headers.forEach((_value, name) => {
    names.push(name)
  })
  return names.sort()
}

describe('an answer', () => {
  it.each(ASKED)(
    'to %s %s with %s is a %i without headers about the software, and other sites may not read it',
    async (method, path, with_, status, more) => {
      const key = with_ === 'key' ? (await givenUser(context.service.db)).key : undefined
      const answer = await send(method, path, key)
      expect(answer.status).toBe(status)
      // No server, x-powered-by or set-cookie, and nothing else that was not decided on.
      expect(namesOf(answer)).toEqual([...ALWAYS, ...more].sort())
    },
  )

  it('that is an image may be shown by other sites, and a browser takes it for nothing but an image', async () => {
    const slug = newSlug()
    await imageStore(context.service.config).put(slug, Buffer.from('<script>alert(1)</script>'))
    const answer = await send('GET', `/cdn/${slug}.png`)
    expect(namesOf(answer)).toEqual(
      [
        ...ALWAYS,
        ...['accept-ranges', 'etag', 'last-modified'],
        ...['access-control-allow-origin', 'cache-control', 'content-security-policy'],
        ...['cross-origin-resource-policy', 'x-content-type-options'],
      ].sort(),
    )
    // What is no image is not shown as anything else: the type is not guessed, and a page would have no rights.
    expect(answer.headers.get('content-type')).toBe('image/png')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
  })
})
