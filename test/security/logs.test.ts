import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '../../src/account/api-key.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { call } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { sendRaw } from '../support/raw-http.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

/** In every prompt, and nowhere else. */
const CANARY = 'quokkaverb'
const MODERATION_KEY = 'sk-moderation-secret'

let moderation: Server
let server: ServerProcess
let db: Database
beforeAll(async () => {
  // Repeats what it was sent, as a careless endpoint would.
  moderation = createServer((request, response) => {
    response.writeHead(500, { 'content-type': 'application/json' })
    request.pipe(response)
  })
  await new Promise<void>((listening) => moderation.listen(0, '127.0.0.1', listening))
  server = await startServerProcess({
    LOG_LEVEL: 'trace',
    RATE_LIMIT_MAX: '1000',
    MODERATION_URL: `http://127.0.0.1:${(moderation.address() as AddressInfo).port}/`,
    MODERATION_API_KEY: MODERATION_KEY,
  })
  db = createDatabase(server.databaseUrl, { maxConnections: 2, onError: () => undefined })
})
afterAll(async () => {
  await db?.pool.end()
  await server?.stop()
  moderation.close()
})

describe('the log of a server, at its most talkative', () => {
  it('tells of every request and every error, but no prompt, no key and no password', async () => {
    const [one, two] = [await givenUser(db), await givenUser(db, { credits: 0 })]
    const revoked = await givenUser(db)
    await db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [revoked.keyId])
    const unknown = newApiKey('easel')
    const prompt = `${CANARY} at dusk`
    const post = (path: string, key: string, body: unknown, headers: Record<string, string> = {}) =>
      call(server.url, 'POST', path, { key, body, headers })
    const statuses: number[] = []
    const note = async (sent: Promise<{ status: number } | undefined>) => void statuses.push((await sent)?.status ?? 0)

    for (const key of [one.key, two.key, revoked.key, unknown, `${unknown}x`, 'easel_typo'])
      await note(call(server.url, 'GET', `/api/v1/account?key=${key}&prompt=${CANARY}`, { key }))
    const valid = { prompt, negative_prompt: prompt, model_version_id: 10 }
    await note(post('/api/v1/generate', one.key, valid, { 'idempotency-key': 'k' })) // 201
    await note(post('/api/v1/generate', one.key, valid, { 'idempotency-key': 'k' })) // replayed
    await note(post('/api/v1/generate', one.key, { ...valid, seed: 1 }, { 'idempotency-key': 'k' })) // 422
    await note(post('/api/v1/generate', one.key, valid)) // 429: active
    await note(post('/api/v1/generate', two.key, valid)) // 402
    await note(post('/api/v1/generate', two.key, { ...valid, prompt: `${prompt}, nude child` })) // 400: flagged
    await note(post('/api/v1/generate', two.key, { ...valid, steps: CANARY, [CANARY]: prompt })) // 400: fields
    await note(post('/api/v1/generate', two.key, `{"prompt": "${prompt}`)) // 400: JSON
    await note(post('/api/v1/generate', two.key, { ...valid, prompt: prompt.repeat(8000) })) // 413
    await note(post('/api/v1/generate', two.key, prompt, { 'content-type': 'text/plain' })) // 415
    await note(post('/v1/images/generate', two.key, { prompt, model: CANARY })) // 400
    await note(sendRaw(server.url, `GET /${CANARY}%zz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${one.key}\r\n\r\n`))
    await note(sendRaw(server.url, `GET / HTTP/1.1\r\nAuthorization: Bearer ${one.key}\r\nbroken ${CANARY}\r\n\r\n`))
    // What nobody foresaw, in the statement that has the prompt as a parameter, and in the one that has the key's hash.
    const three = await givenUser(db)
    await db.pool.query('ALTER TABLE credit_ledger RENAME TO lost')
    await note(post('/api/v1/generate', three.key, valid)) // 500
    await db.pool.query('ALTER TABLE lost RENAME TO credit_ledger')
    await db.pool.query(`ALTER TABLE generations ADD CONSTRAINT never CHECK (prompt NOT LIKE '%${CANARY}%') NOT VALID`)
    await note(post('/api/v1/generate', three.key, valid)) // 500, and Postgres's own words repeat the row
    await db.pool.query('ALTER TABLE generations DROP CONSTRAINT never')
    await db.pool.query('ALTER TABLE api_keys RENAME TO lost')
    await note(call(server.url, 'GET', '/api/v1/account', { key: three.key })) // 500
    await db.pool.query('ALTER TABLE lost RENAME TO api_keys')
    expect(statuses).toEqual([
      200, 200, 401, 401, 401, 401, 201, 201, 422, 429, 402, 400, 400, 400, 413, 415, 400, 400, 400, 500, 500, 500,
    ])

    // Each request that reached a route has its line; the last one has been written.
    await until(() => server.readLog().match(/"status":500/g)?.length === 3, 'the last line')
    const log = server.readLog()
    for (const told of [
      '"status":201',
      '"status":402',
      '"status":413',
      'request failed',
      'the moderation endpoint gives no answer',
    ])
      expect(log).toContain(told)
    const keys = [one, two, three, revoked].map(({ key }) => key)
    for (const secret of [...keys, unknown, MODERATION_KEY, CANARY, new URL(server.databaseUrl).password]) {
      expect(secret.length).toBeGreaterThan(5)
      const lines = log.split('\n').filter((line) => line.toLowerCase().includes(secret.toLowerCase()))
      expect(lines).toEqual([])
    }
    // Not in pieces either: the random part of a key, without its checksum.
    for (const key of keys) expect(log).not.toContain(key.slice(6, 20))
    expect(log).not.toMatch(/authorization/i)
  })
})
