import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createDatabase } from '../../src/db/client.js'
import { call } from '../support/client.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

const COUNT = 2500
/** Of one address, as the server has it. */
const LIMIT = 1250
const REQUESTS = 20

// The loopback network has more than one address on Linux alone.
it.skipIf(process.platform !== 'linux')(
  `${COUNT} connections of one address leave every other client a place: each request of theirs is answered`,
  async () => {
    const server = await startServerProcess({ RATE_LIMIT_MAX: '1000000' })
    const db = createDatabase(server.databaseUrl, { maxConnections: 2, onError: () => undefined })
    const sockets: Socket[] = []
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy()
      await db.pool.end()
      await server.stop()
    })
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    for (let n = 0; n < COUNT; n++) {
      const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', localAddress: '127.0.0.2' })
      sockets.push(socket)
      socket.on('error', () => undefined).resume()
      socket.write('GET /health HTTP/1.1\r\nHost: easel.test\r\n\r\n')
      // No more at once than the port has room for.
      if (n % 100 === 0) await until(() => !socket.connecting, 'a connection')
    }
    const open = () => sockets.filter(({ closed }) => !closed)
    await until(() => open().length <= LIMIT, 'the end of those beyond')
    for (const path of [`/api/v1/generate/${id}`, '/health', '/ready'])
      for (let n = 0; n < REQUESTS; n++) {
        // A connection of its own for each, as a new client has it.
        const headers = { connection: 'close' }
        expect(await call(server.url, 'GET', path, { key: owner.key, headers })).toMatchObject({ status: 200 })
      }
    expect(open().every(({ bytesRead }) => bytesRead > 0)).toBe(true)
    expect(open()).toHaveLength(LIMIT)
  },
)
