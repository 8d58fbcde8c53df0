import { describe, expect, it, onTestFinished } from 'vitest'
import { createServerHttp, parseServerUrl } from '../../src/inference/server-http.js'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { failureOf } from './given.js'

const { signal } = new AbortController()

async function givenHttp(options: Parameters<typeof createServerHttp>[1] = {}) {
  const standIn = await startComfyuiStandIn()
  const http = createServerHttp(parseServerUrl(standIn.inferenceUrl), options)
  onTestFinished(async () => {
    await http.close()
    await standIn.close()
  })
  return { standIn, http }
}

describe('a connection that the server keeps', () => {
  it('is used for the next question, and one that the server has just closed fails none', async () => {
    const { standIn, http } = await givenHttp({ keepAlive: true })
    const asked = () => standIn.journal.filter(({ path }) => path === '/queue').length
    for (let i = 0; i < 9; i++) await http.get('/queue', signal)
    expect(standIn.connections()).toBeLessThan(4)
    standIn.set({ fault: 'drop', on: 'GET /queue', times: 1 })
    expect(await http.get('/queue', signal)).toMatchObject({ status: 200 })
    expect(asked()).toBe(11)
  })

  it('never carries what must not arrive twice', async () => {
    const { standIn, http } = await givenHttp({ keepAlive: true })
    await http.get('/queue', signal)
    standIn.set({ fault: 'drop', on: 'POST /prompt' })
    expect((await failureOf(http.post('/prompt', {}, signal))).kind).toBe('lost')
    expect(standIn.asked()).toHaveLength(1)
    expect(standIn.journal.at(-1)?.headers.connection).toBe('close')
  })

  it('carries a POST that may arrive twice, which is sent again if the server has just closed it', async () => {
    const { standIn, http } = await givenHttp({ keepAlive: true })
    await http.get('/queue', signal)
    standIn.set({ fault: 'drop', on: 'POST /history', times: 1 })
    expect(await http.postRepeatable('/history', { delete: ['a'] }, signal)).toMatchObject({ status: 200 })
    const asked = standIn.journal.filter(({ path }) => path === '/history')
    expect(asked.map(({ body, headers }) => [body, headers.connection])).toEqual([
      [{ delete: ['a'] }, 'keep-alive'],
      [{ delete: ['a'] }, 'close'],
    ])
  })
})

it('downloads the bytes of a file as they are', async () => {
  const { standIn, http } = await givenHttp()
  standIn.files.set('temp/a.png', Buffer.from([0, 255, 10, 13]))
  expect([...(await http.download('/view?type=temp&filename=a.png', signal)).bytes]).toEqual([0, 255, 10, 13])
})

it('cuts off a reply and a download that grow beyond the limit', async () => {
  const { standIn, http } = await givenHttp({ maxReplyBytes: 100 })
  standIn.files.set('temp/a.png', Buffer.alloc(101))
  expect((await failureOf(http.get('/object_info/KSampler', signal))).kind).toBe('bad_output')
  expect((await failureOf(http.download('/view?type=temp&filename=a.png', signal))).kind).toBe('bad_output')
})

it('calls a server whose host name is unknown unavailable', async () => {
  const http = createServerHttp(parseServerUrl('a1111+http://nowhere.invalid:7860'))
  expect((await failureOf(http.get('/', signal))).kind).toBe('unavailable')
  await http.close()
})

it.each([
  ['a1111+http://user:100%25@gpu1', 'user:100%'],
  ['a1111+http://user:100%@gpu1', 'user:100%'],
])('reads the credentials of %s as %s', (url, credentials) => {
  expect(parseServerUrl(url).authorization).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`)
})

it('takes no address without http, and does not repeat it', () => {
  expect(() => parseServerUrl('a1111+ftp://user:s3cret@gpu1')).toThrow(/^A backend is written like [^@]*$/)
})
