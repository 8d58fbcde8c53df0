import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { expect, it } from 'vitest'
import { ASSETS } from '../../src/web/shared/assets.js'
import { useService } from '../support/service.js'

const context = useService()

async function get(encodings: string | undefined) {
  const headers = encodings === undefined ? {} : { 'accept-encoding': encodings }
  const answer = await request(context.service.url + ASSETS.style.url, { headers })
  return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) }
}

it.each(['gzip', 'br, gzip', 'deflate,gzip;q=0.5', 'gzip ; q=1.0, br'])(
  'a style is sent compressed to a browser that takes %j',
  async (encodings) => {
    const { statusCode, headers, bytes } = await get(encodings)
    expect([statusCode, headers['content-encoding'], headers.vary]).toEqual([200, 'gzip', 'accept-encoding'])
    expect(gunzipSync(bytes)).toEqual(ASSETS.style.body)
    expect(bytes.length).toBeLessThan(ASSETS.style.body.length / 2)
  },
)

it.each([undefined, 'br', 'gzip;q=0', 'gzip;q=0.000, br', 'notgzip', 'x-gzip'])(
  'a style is sent as it is to a client that takes %j',
  async (encodings) => {
    const { headers, bytes } = await get(encodings)
    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'accept-encoding'])
    expect(bytes).toEqual(ASSETS.style.body)
  },
)

it('what a page of another release asks for is ours of the same name, which nobody keeps', async () => {
  const of = (url: string) => request(context.service.url + url)
  const { statusCode, headers, body } = await of(ASSETS.style.url.replace(/\.[^.]+/, '.AAAAAAAAAAAA'))
  expect([statusCode, headers['cache-control'], headers['content-type']]).toEqual([
    ...[200, 'no-store', 'text/css; charset=utf-8'],
  ])
  expect(Buffer.from(await body.arrayBuffer())).toEqual(ASSETS.style.body)
  expect((await of('/assets/other.AAAAAAAAAAAA.css')).statusCode).toBe(404)
  expect((await of('/assets/easel')).statusCode).toBe(404)
})
