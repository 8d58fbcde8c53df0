import { describe, expect, it } from 'vitest'
import { cdnPurge } from '../../src/outbound/cdn-purge.js'
import { givenReceiver } from '../support/webhook-receiver.js'

const URL_OF_IMAGE = 'https://cdn.example/images/AbCdEfGhIjKlMnOpQrSt09.png'
const purge = (template: string) => cdnPurge(template)(URL_OF_IMAGE, new AbortController().signal)

describe('purging by path', () => {
  it('asks the cache for the image’s path, under the name that it is cached by', async () => {
    const cache = await givenReceiver()
    await purge(`http://easel:secret@127.0.0.1:${cache.port}/{path}?soft=1`)
    expect(cache.received).toMatchObject([
      {
        method: 'PURGE',
        path: '/images/AbCdEfGhIjKlMnOpQrSt09.png?soft=1',
        headers: { host: 'cdn.example', authorization: `Basic ${btoa('easel:secret')}` },
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
