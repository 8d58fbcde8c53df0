import { describe, expect, it } from 'vitest'
import { cdnPurge, purgedAgain } from '../../src/outbound/cdn-purge.js'
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

it('purges a second time, which drops what the CDN had begun to fetch before the file went', async () => {
  const statuses = [200, 503]
  const cdn = await givenReceiver((response) => void response.writeHead(statuses.shift() ?? 200).end())
  const again = purgedAgain(cdnPurge(cdn.url, SAME), { warn: () => undefined }, 1)
  await again(URL_OF_IMAGE, new AbortController().signal)
  // The CDN refuses the second one for a moment.
  for (const n of [1, 2, 3]) expect((await cdn.nth(n)).body).toEqual({ files: [URL_OF_IMAGE] })
})

it('purges no second time what it could not purge at first', async () => {
  const cdn = await givenReceiver(503)
  const again = purgedAgain(cdnPurge(cdn.url, SAME), { warn: () => undefined }, 1)
  await expect(again(URL_OF_IMAGE, new AbortController().signal)).rejects.toThrow('CDN_PURGE_URL answered 503')
  expect(cdn.received).toHaveLength(1)
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
