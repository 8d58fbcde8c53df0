import { describe, expect, it } from 'vitest'
import { cdnPurge } from '../../src/outbound/cdn-purge.js'
import { givenReceiver } from '../support/webhook-receiver.js'

const URL_OF_IMAGE = 'https://cdn.example/images/AbCdEfGhIjKlMnOpQrSt09.png'
const URLS = { cdnBaseUrl: 'https://cdn.example/images', baseUrl: 'https://easel.example' }
const SAME = { cdnBaseUrl: 'https://cdn.example/images/cdn', baseUrl: 'https://cdn.example/images' }
const purge = (template: string, urls = SAME) => cdnPurge(template, urls)(URL_OF_IMAGE, new AbortController().signal)

describe('purging by path', () => {
  it('asks the cache for the image’s path, under the name that it is cached by', async () => {
    const cache = await givenReceiver()
    await purge(`http://easel:secret@127.0.0.1:${cache.port}/{path}?soft=1`)
    expect(cache.received).toMatchObject([
      {
        method: 'PURGE',
        path: '/images/AbCdEfGhIjKlMnOpQrSt09.png?soft=1',
        headers: {
          ...{ host: 'cdn.example', 'x-forwarded-proto': 'https' },
          authorization: `Basic ${btoa('easel:secret')}`,
        },
      },
    ])
  })

  it.each([200, 204, 404, 412])('is done when the cache answers %i', async (status) => {
    const cache = await givenReceiver(status)
    await purge(`http://127.0.0.1:${cache.port}/{path}`)
  })

  it.each([302, 401, 405, 500])('is not done when it answers %i', async (status) => {
    const cache = await givenReceiver(status)
    await expect(purge(`http://127.0.0.1:${cache.port}/{path}`)).rejects.toThrow(`CDN_PURGE_URL answered ${status}`)
  })
})

it.each([302, 404, 412, 500])('purging by URL is not done when the CDN answers %i', async (status) => {
  const cdn = await givenReceiver(status)
  await expect(purge(cdn.url)).rejects.toThrow(`CDN_PURGE_URL answered ${status}`)
})

it('names who asks', async () => {
  const cdn = await givenReceiver()
  await purge(cdn.url)
  await purge(`http://127.0.0.1:${cdn.port}/{path}`)
  for (const { headers } of cdn.received) expect(headers['user-agent']).toBe('Easel/1')
})

it.each([
  [
    200,
    '{"success":false,"errors":[{"code":1012,"message":"Request must contain one of purge_everything"}]}',
    ' (Request must contain one of purge_everything).',
  ],
  [
    403,
    '{"success":false,"errors":[{"message":"Authentication error"}]}',
    ' (Authentication error): check the token or password in it, and that who has it may purge.',
  ],
  [404, '{"success":false,"errors":null}', ': check its address, such as the zone in it.'],
  [405, '<html>Not allowed</html>', ': let the cache take a PURGE from this server, or correct the address.'],
  [429, '{"msg":"slow down"}', ' (slow down): it takes no more for now, and is asked again later.'],
  [301, '', ': it leads elsewhere, so write the address that it leads to.'],
  [500, `"${'x'.repeat(100_000)}"`, '.'],
])('says what the CDN says, and what to do: %i %s', async (status, body, rest) => {
  const cdn = await givenReceiver((response) => void response.writeHead(status).end(body))
  await expect(purge(cdn.url)).rejects.toThrow(new Error(`CDN_PURGE_URL answered ${status}${rest}`))
})

describe('where images have another public address than the one below BASE_URL', () => {
  it('purges both, since a cache may stand in front of each', async () => {
    const cdn = await givenReceiver()
    await purge(cdn.url, URLS)
    const own = 'https://easel.example/cdn/AbCdEfGhIjKlMnOpQrSt09.png'
    expect(cdn.received.map(({ body }) => body)).toEqual([{ files: [URL_OF_IMAGE] }, { files: [own] }])
    const cache = await givenReceiver()
    await purge(`http://127.0.0.1:${cache.port}/{path}`, URLS)
    expect(cache.received).toMatchObject([
      { path: '/images/AbCdEfGhIjKlMnOpQrSt09.png', headers: { host: 'cdn.example' } },
      { path: '/cdn/AbCdEfGhIjKlMnOpQrSt09.png', headers: { host: 'easel.example' } },
    ])
  })

  it('has Cloudflare drop what it keeps for single origins and queries, too', async () => {
    const cdn = await givenReceiver()
    await purge(`${cdn.url}/client/v4/zones/1/purge_cache`, URLS)
    const path = '/AbCdEfGhIjKlMnOpQrSt09.png'
    expect(cdn.received.map(({ body }) => body)).toEqual([
      { files: [URL_OF_IMAGE] },
      { prefixes: [`cdn.example/images${path}`] },
      { files: [`https://easel.example/cdn${path}`] },
    ])
    const refusing = await answering(200, 429)
    await expect(purge(`${refusing.url}/purge_cache`, URLS)).rejects.toThrow('CDN_PURGE_URL answered 429')
  })

  const answering = async (...statuses: number[]) =>
    givenReceiver((response) => void response.writeHead(statuses.shift() ?? 200).end())

  it.each([400, 403, 404])('is done when a CDN of the one only refuses the other with %i', async (status) => {
    const cdn = await answering(200, status)
    await purge(cdn.url, URLS)
    expect(cdn.received).toHaveLength(2)
  })

  it.each([408, 429, 500, 503])('is not done when the second purge is answered %i', async (status) => {
    const cdn = await answering(200, status)
    await expect(purge(cdn.url, URLS)).rejects.toThrow(`CDN_PURGE_URL answered ${status}`)
  })

  it('is not done when the first is refused', async () => {
    const cdn = await answering(400)
    await expect(purge(cdn.url, URLS)).rejects.toThrow('CDN_PURGE_URL answered 400')
  })
})
