import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { call } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { directoryOf } from '../support/image-storage.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'

const context = useService({
  inFiles: true,
  env: { RATE_LIMIT_MAX: '1000' },
  server: { slots: { total: 400, perHolder: 200, patienceMs: 100 } },
})
const PER_CONNECTION = 4

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

async function open(): Promise<Socket> {
  const socket = connect(Number(new URL(context.service.url).port), '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const get = (path: string, key = 'none') =>
  `GET ${path} HTTP/1.1\r\nHost: easel.test\r\nAuthorization: Bearer ${key}\r\n\r\n`

/** Larger than what a socket takes without a reader. */
async function givenLargeImage(): Promise<string> {
  const slug = newSlug()
  await writeFile(join(directoryOf(context.service.config), `${slug}.png`), Buffer.alloc(8 * 1024 * 1024))
  return slug
}

/** How many images this process has open; undefined where the system does not tell. */
function openImages(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directoryOf(context.service.config))
      } catch {
        return false // closed meanwhile
      }
    }).length
  } catch {
    return undefined
  }
}

describe('a connection that sends its next requests before it has the answers', () => {
  it('gets the answers in order if the requests are few', async () => {
    const { key, username } = await givenUser(context.service.db)
    const socket = await open()
    socket.write(get('/health') + get('/api/v1/account', key) + get('/nothing') + get('/api/v1/models', key))
    let received = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      received += chunk
    })
    await until(() => received.match(/HTTP\/1\.1 /g)?.length === 4 && received.endsWith('}'), 'four answers')
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200'])
    expect(received.indexOf('"ok"')).toBeLessThan(received.indexOf(username))
    // Answered requests count no more: the connection goes on.
    for (let n = 0; n < 3; n++) {
      received = ''
      socket.write(get('/api/v1/account', key))
      await until(() => received.includes(username), 'the next answer')
    }
  })

  it('is closed after a 503 if the requests are many, and those beyond are not even looked at', async () => {
    const { key } = await givenUser(context.service.db)
    const socket = await open()
    // The first one is still being looked up when the others come.
    socket.write(get('/api/v1/account', key).repeat(100))
    const answers = (await text(socket)).split(/(?=HTTP\/1\.1 )/)
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual([...Array(PER_CONNECTION).fill('200'), '503'])
    const refused = answers.at(-1) ?? ''
    expect(refused).toMatch(/\r\nretry-after: 2\r\n/)
    expect(refused).toMatch(/\r\nconnection: close\r\n/)
    expect(refused).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
    expect(refused).toMatch(/\r\n\r\n\{"error":"The service is temporarily unavailable\. [^"]+"\}$/)
    const remaining = (await call(context.service.url, 'GET', '/api/v1/account', { key })).headers.get(
      'x-ratelimit-remaining',
    )
    expect(remaining).toBe(String(1000 - PER_CONNECTION - 1))
  })

  it.each(['/health', '/ready'])('is closed, and costs no more than those few, if it asks for %s', async (path) => {
    const socket = await open()
    socket.write(get(path).repeat(3000))
    const answers = (await text(socket)).split(/(?=HTTP\/1\.1 )/)
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(Array(PER_CONNECTION + 1).fill('200'))
    expect(answers.at(-1)).toMatch(/\r\nconnection: close\r\n/i)
  })

  it('gets the 503 in the shape of its interface', async () => {
    const { key } = await givenUser(context.service.db)
    const socket = await open()
    socket.write(get('/api/v1/account', key).repeat(PER_CONNECTION) + get('/v1/images/generate', key))
    expect(await text(socket)).toMatch(
      /\r\n\r\n\{"success":false,"error":\{"code":"unavailable","message":"[^"]+","retry_after":2\}\}$/,
    )
  })

  it.skipIf(openImages() === undefined)(
    'has the server open few images, and leaves none open when it is gone',
    async () => {
      const slug = await givenLargeImage()
      for (let n = 0; n < 5; n++) {
        const socket = await open()
        socket.pause()
        socket.write(get(`/cdn/${slug}.png`).repeat(300))
        await until(() => (openImages() ?? 0) >= PER_CONNECTION, 'the images')
        await call(context.service.url, 'GET', '/health') // whatever it would have opened beyond, it has
        expect(openImages()).toBe(PER_CONNECTION)
        socket.destroy()
        await until(() => openImages() === 0, 'the end of all reading')
      }
    },
  )

  it.skipIf(openImages() === undefined)(
    'leaves no image open if it is gone before the server has opened it',
    async () => {
      const slug = await givenLargeImage()
      let opened = 0
      for (let n = 0; n < 5; n++) {
        const socket = await open()
        socket.pause()
        socket.write(get(`/cdn/${slug}.png`).repeat(300))
        socket.destroy()
        // The server may meet its requests later than this; what it opens for them is closed as well.
        for (let turn = 0; turn < 20; turn++) {
          opened = Math.max(opened, openImages() ?? 0)
          await new Promise(setImmediate)
        }
      }
      await call(context.service.url, 'GET', '/health')
      await until(() => openImages() === 0, 'the end of all reading')
      expect(opened).toBeLessThanOrEqual(5 * PER_CONNECTION)
    },
  )
})
