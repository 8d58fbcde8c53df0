import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { newApiKey } from '../../src/core/accounts/api-key.js'
import { newToken } from '../../src/core/accounts/session.js'
import type { Database } from '../../src/db/client.js'
import { call } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { givenPassword, givenSession, PASSWORD } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { sendRaw } from '../support/raw-http.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { visit } from '../support/website-client.js'
import { startWorkerProcess } from '../support/worker-process.js'

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
  db = patientDatabase(server.databaseUrl, 2)
})
afterAll(async () => {
  await db?.pool.end()
  await server?.stop()
  moderation.close()
})

describe('the log at level trace', () => {
  it('of a server tells of every request and every error, but holds no prompt, no key and no password', async () => {
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
    await db.pool.query('ALTER TABLE credit_ledger ADD CONSTRAINT never CHECK (false) NOT VALID')
    await note(post('/api/v1/generate', three.key, valid)) // 500
    await db.pool.query('ALTER TABLE credit_ledger DROP CONSTRAINT never')
    await db.pool.query(`ALTER TABLE generations ADD CONSTRAINT never CHECK (prompt NOT LIKE '%${CANARY}%') NOT VALID`)
    await note(post('/api/v1/generate', three.key, valid)) // 500, and Postgres's own words repeat the row
    await db.pool.query('ALTER TABLE generations DROP CONSTRAINT never')
    await db.pool.query(
      'ALTER TABLE api_keys RENAME TO kept; CREATE VIEW api_keys AS SELECT * FROM kept WHERE 1 / 0 = 0',
    )
    await note(call(server.url, 'GET', '/api/v1/account', { key: three.key })) // 500
    await db.pool.query('DROP VIEW api_keys; ALTER TABLE kept RENAME TO api_keys')
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
    expectNone(log, [...keys, unknown, MODERATION_KEY, CANARY, new URL(server.databaseUrl).password])
    // Not in pieces either: the random part of a key, without its checksum.
    for (const key of keys) expect(log).not.toContain(key.slice(6, 20))
    expect(log).not.toMatch(/authorization/i)
  })

  it('of server and worker names a generation by the same IDs, and holds none of the secrets that were planted everywhere', async () => {
    const gpu = await givenEcho()
    const worker = await startWorkerProcess(
      {
        ...{
          databaseUrl: server.databaseUrl,
          storage: { kind: 'file', path: server.storagePath } as const,
          baseUrl: server.url,
        },
        redisUrl: redisAvailable ? await redisUrl() : undefined,
      },
      { LOG_LEVEL: 'trace', INFERENCE_URL: gpu },
    )
    onTestFinished(async () => {
      worker.kill('SIGKILL')
      await worker.ended
    })
    const user = await givenUser(db)
    await givenPassword(db, user)
    const cookie = await givenSession(db, user)
    const [token, spent] = [newToken(), newToken()]
    await db.pool.query(`UPDATE users SET email = 'quokkaverb@example.com' WHERE id = $1`, [user.id])

    // In headers, in a path, in a query, and in a body of every kind; by each interface.
    const { key } = user
    const headers = {
      ...{ 'x-request-id': token, 'user-agent': CANARY, 'x-api-key': key, 'idempotency-key': token },
      ...{ traceparent: CANARY, tracestate: CANARY, referer: `${server.url}/?key=${key}`, cookie },
    }
    const hook = { url: `https://hooks.easel.example/${CANARY}`, description: CANARY }
    const made = await call(server.url, 'POST', '/api/v1/webhooks', { key, body: hook, headers })
    expect(made).toMatchObject({ status: 201 })
    const { secret } = made.body
    const body = {
      prompt: `a view of ${CANARY} at dusk`,
      model_version_id: 10,
      width: 256,
      height: 256,
      sampler: 'euler_a',
    }
    const submitted = await call(server.url, 'POST', '/api/v1/generate', { key, body, headers })
    expect(submitted.status).toBe(201)
    for (const path of [`/api/v1/generate/${key}`, `/image/${CANARY}`, `/${CANARY}?token=${token}`, `/cdn/${CANARY}`])
      expect((await call(server.url, 'GET', path, { key, headers })).status).toBeGreaterThan(400)
    const tool = (name: string, args: object) => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name, arguments: { prompt: `${CANARY} again`, ...args } },
    })
    const mcp = { ...headers, accept: 'application/json, text/event-stream' }
    for (const message of [
      tool('check_prompt', {}),
      tool('check_prompt', { [CANARY]: token }),
      tool(CANARY, {}),
      `{"${CANARY}`,
    ])
      await call(server.url, 'POST', '/mcp', { key, headers: mcp, body: message })
    const forms: [string, Record<string, string>][] = [
      ['/sign-in', { username: user.username, password: PASSWORD }],
      ['/sign-in', { username: user.username, password: CANARY }],
      ['/sign-in', { username: key, password: key, [CANARY]: token }],
      ['/sign-in/mail', { username: user.username }],
      ['/sign-in/link', { token: spent, next: `/${CANARY}` }],
      ['/account/password', { current: PASSWORD, password: CANARY.repeat(3), again: CANARY }],
      ['/playground', { prompt: CANARY, model_version_id: '10' }],
      ['/playground', { prompt: CANARY, [CANARY]: token }],
      ['/keys', { name: CANARY, kind: CANARY }],
      ['/webhooks', { ...hook, events: CANARY }],
    ]
    for (const [path, form] of forms) await visit(server.url, path, { body: form, cookie })
    for (const path of [`/sign-in/link?token=${token}`, `/gallery?q=${CANARY}`])
      await visit(server.url, path, { cookie })

    // Each try's error repeats the prompt in another way; then it fails for good.
    const { id } = submitted.body
    const failed = () =>
      worker
        .readLog()
        .split('\n')
        .find((line) => line.includes('"generation failed"') && line.includes(id))
    const line = JSON.parse(await until(failed, 'the end'))
    const requestId = submitted.headers.get('x-request-id')
    expect(line).toMatchObject({ generationId: id, requestId, attempt: 3 })
    await until(() => server.readLog().includes('mail'), 'the mail that could not be sent')
    const log = server.readLog() + worker.readLog()
    const answered = log.split('\n').filter((it) => it.includes('request answered') && it.includes(id))
    expect(answered.map((it) => JSON.parse(it))).toMatchObject([{ requestId, generationId: id, status: 201 }])
    expect(log).toContain('the cat of ')
    expectNone(log, [CANARY, key, cookie.split('=')[1] as string, token, spent, secret, secret.slice(6), PASSWORD])
    expect(log).not.toMatch(/token=/)
  })
})

function expectNone(log: string, secrets: readonly string[]): void {
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(5)
    const lines = log.split('\n').filter((line) => line.toLowerCase().includes(secret.toLowerCase()))
    expect(lines).toEqual([])
  }
}

/** A GPU server that fails, and repeats the prompt, or a word of it, in its errors. Resolves to its INFERENCE_URL. */
async function givenEcho(): Promise<string> {
  let tries = 0
  const gpu = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') return void response.end('{"data": [{"id": "ponyDiffusionV6XL"}]}')
    const { prompt } = JSON.parse(await readText(request))
    const errors = [`cannot draw ${prompt}`, `the cat of ${CANARY} at`, `no token for '${CANARY.toUpperCase()}'`]
    response.writeHead(500).end(JSON.stringify({ error: { message: errors[tries++ % errors.length] }, prompt }))
  })
  gpu.listen(0, '127.0.0.1')
  await once(gpu, 'listening')
  onTestFinished(() => {
    gpu.closeAllConnections()
    gpu.close()
  })
  return `openai+http://127.0.0.1:${(gpu.address() as AddressInfo).port}/v1?sampler=euler_a`
}
