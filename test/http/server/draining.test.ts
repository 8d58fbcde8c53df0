import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { startServer } from '../../../src/process/start-server.js'
import { call } from '../../support/client.js'
import { silentLog, useService } from '../../support/service.js'
import { until, within } from '../../support/until.js'

const context = useService()

/** A connection of one's own, and everything that came over it until its orderly end. */
async function connection(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let received = ''
  socket.on('data', (data) => (received += data))
  const whole = text(socket)
  whole.catch(() => undefined) // whoever awaits it is told
  await once(socket, 'connect')
  return {
    write: (bytes: string) => socket.write(bytes),
    /** Resolves with the first answer. */
    answered: () => until(() => received.includes('\r\n\r\n') && received, 'an answer'),
    /** Rejects when the connection is reset. */
    whole,
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: easel.test\r\n\r\n`
const statuses = (received: string) => [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)

describe('a server that is told to end', () => {
  it('serves old and new connections until the notice is over, each for the last time', async () => {
    let endNotice = () => {}
    const notice = new Promise<void>((resolve) => (endNotice = resolve))
    const { url, stop } = await context.service.server({ notice })
    const kept = await Promise.all(Array.from({ length: 20 }, () => connection(url)))
    for (const each of kept) each.write(get('/health'))
    for (const each of kept) expect(await each.answered()).not.toMatch(/\r\nconnection: close\r\n/i)

    const stopped = stop()
    for (const each of kept) each.write(get('/health'))
    const answers = await Promise.all(['/ready', '/health', '/cdn/none', '/'].map((path) => call(url, 'GET', path)))
    expect(answers.map(({ status }) => status)).toEqual([503, 200, 404, 200])
    for (const { headers } of answers) expect(headers.get('connection')).toBe('close')
    for (const each of kept) {
      const whole = await each.whole
      expect(statuses(whole)).toEqual(['200', '200'])
      expect(whole).toMatch(/\r\nconnection: close\r\n[\s\S]*"ok"\}$/)
    }
    endNotice()
    await stopped
    await expect(call(url, 'GET', '/health')).rejects.toThrow()
  })

  it('does not wait for a connection that has never asked anything', async () => {
    const { url, stop } = await context.service.server()
    const spare = await connection(url)
    await call(url, 'GET', '/health') // it has met the spare one by now, too
    await stop()
    await expect(spare.whole).resolves.toBe('')
  })

  it('waits for requests that never end only as long as it waits for Create Image clients', async () => {
    const { url, stop } = await context.service.server({ waitersMs: 200 })
    for (const half of [
      'GET /health HTTP/1.1\r\nHost: easel.test\r\n',
      'POST /health HTTP/1.1\r\nHost: easel.test\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      `${get('/health')}GET /health HTTP/1.1\r\n`,
    ])
      (await connection(url)).write(half)
    await call(url, 'GET', '/health') // it has read the halves by now, too
    await within(60_000, stop(), 'the server')
  })
})

it('a server whose port is taken ends without giving notice', async () => {
  const { url, config } = context.service
  const taken = { ...config, port: Number(new URL(url).port) }
  await expect(startServer(taken, silentLog(), { noticeMs: 60_000 })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
