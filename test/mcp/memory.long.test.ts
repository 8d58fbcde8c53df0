import { link, mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/db/client.js'
import { patientDatabase } from '../support/database.js'
import { givenImages } from '../support/given-images.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

const ACCOUNTS = 8
/** As many as an account may have. */
const CALLS = 8
const LIMIT_MIB = 430

let server: ServerProcess
let db: Database
const users: (GivenUser & { generation: string })[] = []

beforeAll(async () => {
  server = await startServerProcess({ RATE_LIMIT_MAX: '100000' })
  db = patientDatabase(server.databaseUrl, 4)
  // Not compressed: 3 MB each, and read quickly.
  const noise = { type: 'gaussian', mean: 128, sigma: 8 } as const
  const image = sharp({ create: { width: 832, height: 1216, channels: 3, background: '#000', noise } })
  const first = join(server.storagePath, 'first.png')
  await mkdir(server.storagePath, { recursive: true })
  await writeFile(first, await image.png({ compressionLevel: 0 }).toBuffer())
  for (let n = 0; n < ACCOUNTS; n++) {
    const user = await givenUser(db)
    const slugs = await givenImages(db, user, [{ batchSize: 4 }])
    for (const slug of slugs) await link(first, join(server.storagePath, `${slug}.png`))
    const { rows } = await db.pool.query('SELECT id FROM generations WHERE user_id = $1', [user.id])
    users.push({ ...user, generation: rows[0].id })
  }
})
afterAll(async () => {
  await db?.pool.end()
  await server?.stop()
})

const bodyOf = (id: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_generation', arguments: { id } } })

async function answerTo({ key, generation }: (typeof users)[0]): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return await until(
    async () => {
      const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body: bodyOf(generation) })
      // A server that is only beginning turns some away.
      return answer.status === 503 ? answer.text().then(() => undefined) : answer.text()
    },
    'an answer',
    180_000,
  )
}

function imagesIn(text: string): number {
  expect(text).toContain('"status":"succeeded"')
  return text.split('"type":"image"').length - 1
}

/** Sends a call and never reads its answer. */
function unread({ key, generation }: (typeof users)[0]): Socket {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined).pause()
  const body = bodyOf(generation)
  const head = `POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  return socket
}

/** The most that the process ever held, where the system tells. */
async function peakMiB(): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8').catch(() => '')
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
  if (process.env.SHOW_FIGURES) console.log(`peak ${peak.toFixed()} MiB`)
  return peak
}

describe('sixty-four calls at once whose answers have images', () => {
  const calls = Array.from({ length: ACCOUNTS * CALLS }, (_, n) => n)

  it('take bounded memory, and all are answered, as many as may be with their images', async () => {
    const shown = await Promise.all(
      calls.map(async (n) => imagesIn(await answerTo(users[n % ACCOUNTS] as (typeof users)[0]))),
    )
    if (process.env.SHOW_FIGURES) console.log(`${shown.filter((count) => count === 4).length} with images`)
    // A busy machine gets few of them done before their clients give up.
    expect(shown.filter((count) => count === 4).length).toBeGreaterThan(0)
    expect(shown.every((count) => count === 4 || count === 0)).toBe(true)
    expect(await peakMiB()).toBeLessThan(LIMIT_MIB)
    expect(server.exitCode()).toBeNull()
  })

  it('take no more while nobody reads the answers, and others get images afterwards', async () => {
    const sockets = calls.map((n) => unread(users[n % ACCOUNTS] as (typeof users)[0]))
    // Another call, which comes in turn after those that were sent before.
    const asked = users[0] as (typeof users)[0]
    await until(async () => (await server.residentMiB()) !== undefined, 'the process')
    for (const socket of sockets.slice(CALLS * 2)) socket.destroy()
    // The calls of clients that have gone count until the server has noticed.
    const areShown = (text: string) => !text.includes('event streams open') && imagesIn(text) === 4
    await until(async () => areShown(await answerTo(asked)), 'images for a call that is read', 120_000)
    expect(await peakMiB()).toBeLessThan(LIMIT_MIB)
    for (const socket of sockets) socket.destroy()
  })
})
