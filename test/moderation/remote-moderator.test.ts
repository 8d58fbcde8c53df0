import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createModerator, createRemoteModerator } from '../../src/moderation/create-moderator.js'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
})

async function givenEndpoint(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/moderations`
}

const answering = (body: unknown, status = 200) =>
  givenEndpoint((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })

const flagged = (categories: Record<string, boolean>) => ({ id: 'm', results: [{ flagged: true, categories }] })
const clean = { id: 'm', results: [{ flagged: false, categories: { violence: false } }] }

const ask = (url: string, nsfwModel: boolean, deadlineMs = 60_000) =>
  createRemoteModerator({ url, deadlineMs }).review({
    prompt: 'a lighthouse at dusk',
    negativePrompt: 'blurry',
    nsfwModel,
  })

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  return body
}

describe('createRemoteModerator', () => {
  it('posts the prompt and the key by the protocol', async () => {
    const seen: unknown[] = []
    const url = await givenEndpoint(async (request, response) => {
      const { authorization, 'content-type': type } = request.headers
      seen.push(request.method, request.url, authorization, type, JSON.parse(await bodyOf(request)))
      response.end(JSON.stringify(clean))
    })
    const text = { prompt: 'a lighthouse', negativePrompt: 'blurry', nsfwModel: false }
    expect(await createRemoteModerator({ url, apiKey: 'k-1', model: 'm-1', deadlineMs: 60_000 }).review(text)).toEqual({
      flagged: false,
    })
    expect(seen).toEqual([
      'POST',
      '/v1/moderations',
      'Bearer k-1',
      'application/json',
      { input: 'a lighthouse', model: 'm-1' },
    ])
  })

  it('passes what the endpoint finds clean', async () => {
    const url = await answering(clean)
    expect(await ask(url, true)).toEqual({ flagged: false })
    expect(await ask(url, false)).toEqual({ flagged: false })
  })

  it('refuses what it flags, by the categories it names', async () => {
    const url = await answering(flagged({ violence: true, hate: false, 'self-harm': true }))
    for (const nsfwModel of [true, false]) {
      expect(await ask(url, nsfwModel)).toEqual({
        flagged: true,
        parameter: 'prompt',
        category: 'violence, self-harm',
        matched: [],
      })
    }
  })

  it('refuses what it flags without naming a category', async () => {
    const url = await answering({ results: [{ flagged: true }] })
    expect(await ask(url, true)).toMatchObject({ flagged: true, category: 'disallowed content' })
  })

  it('takes the categories for the verdict where an answer has no `flagged`', async () => {
    const judged = (categories: object) => answering({ results: [{ categories, category_scores: { violence: 0.4 } }] })
    expect(await ask(await judged({ violence: true, hate: null }), true)).toMatchObject({ category: 'violence' })
    for (const none of [{ violence: false, hate: null }, {}]) {
      expect(await ask(await judged(none), true)).toEqual({ flagged: false })
    }
  })

  it.each([
    [{ violence: true, 'see https://attacker.example': true }, 'violence, disallowed content'],
    [{ one: true, two: true }, 'disallowed content'],
  ])('tells subscribers no name of a category that the protocol does not know: %j', async (categories, category) => {
    const made = categories as unknown as Record<string, boolean>
    expect(await ask(await answering(flagged(made)), true)).toMatchObject({ flagged: true, category })
  })

  it('allows sexual content with adults, and no more, on NSFW models', async () => {
    const adult = await answering(flagged({ sexual: true, 'sexual/minors': false }))
    expect(await ask(adult, true)).toEqual({ flagged: false })
    expect(await ask(adult, false)).toMatchObject({ flagged: true, category: 'sexual' })
    const minors = await answering(flagged({ sexual: true, 'sexual/minors': true }))
    expect(await ask(minors, true)).toMatchObject({ flagged: true, category: 'sexual, sexual/minors' })
  })

  const silences: [string, () => Promise<string>][] = [
    ['never answers', () => givenEndpoint(() => {})],
    [
      'stops in the middle of its answer',
      () =>
        givenEndpoint((_request, response) => {
          response.write('{"results":')
        }),
    ],
    ['answers 500', () => answering(clean, 500)],
    ['answers 401', () => answering(clean, 401)],
    ['answers something else than JSON', () => answering('<html>')],
    ['answers JSON of another form', () => answering({ results: [{ flagged: 'no' }] })],
    ['judges nothing', () => answering({ results: [{ category_scores: { violence: 0.9 } }] })],
    ['answers without a result', () => answering({ results: [] })],
    ['answers without end', () => answering(`${' '.repeat(300_000)}${JSON.stringify(clean)}`)],
    [
      'answers what unpacks without end',
      () =>
        givenEndpoint((_request, response) => {
          response.writeHead(200, { 'content-encoding': 'gzip' })
          response.end(gzipSync(`${' '.repeat(300_000)}${JSON.stringify(clean)}`))
        }),
    ],
    [
      'redirects elsewhere',
      async () => {
        const elsewhere = await answering(clean)
        return givenEndpoint((_request, response) => response.writeHead(307, { location: elsewhere }).end())
      },
    ],
    ['is not there', async () => 'http://127.0.0.1:1/v1/moderations'],
  ]

  it.each(silences)('refuses NSFW models with 503 and passes others when the endpoint %s', async (_how, given) => {
    const url = await given()
    await expect(ask(url, true, 200)).rejects.toMatchObject({ code: 'unavailable', detail: { retryAfterSeconds: 5 } })
    expect(await ask(url, false, 200)).toEqual({ flagged: false })
  })

  it('waits a second and a half for an answer, unless it is told otherwise', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => timers.mockRestore())
    const url = await answering(clean)
    const text = { prompt: 'a lighthouse', negativePrompt: '', nsfwModel: true }
    for (const deadlineMs of [undefined, 7777]) await createRemoteModerator({ url, deadlineMs }).review(text)
    const limits = timers.mock.calls.map(([, ms]) => ms).filter((ms) => ms === 1500 || ms === 7777)
    expect(limits).toEqual([1500, 7777])
  })

  it('tells the log once an outage why, when it is over, and nothing of the prompt or the key', async () => {
    const logged: unknown[] = []
    const logger = {
      error: (facts: object, message: string) => void logged.push(['error', facts, message]),
      info: (facts: object, message: string) => void logged.push(['info', facts, message]),
    }
    let status = 429
    const url = await givenEndpoint((_request, response) => {
      response.writeHead(status)
      response.end(JSON.stringify(clean))
    })
    const moderator = createRemoteModerator({ url, apiKey: 'k-1', deadlineMs: 60_000, logger })
    const review = () => moderator.review({ prompt: 'a secret lighthouse', negativePrompt: '', nsfwModel: false })
    const outage = ['error', { reason: 'it answered 429' }, 'the moderation endpoint gives no answer']
    expect(moderator.isSilent()).toBe(false)
    await review()
    await review()
    expect(logged).toEqual([outage])
    expect(moderator.isSilent()).toBe(true)
    status = 200
    await review()
    await review()
    expect(logged).toEqual([outage, ['info', {}, 'the moderation endpoint answers again']])
    expect(moderator.isSilent()).toBe(false)
    status = 429
    await review()
    expect(logged).toHaveLength(3)
  })
})

describe('createModerator with an endpoint', () => {
  it('asks it after the built-in rules, which need no second opinion', async () => {
    let asked = 0
    const url = await givenEndpoint((_request, response) => {
      asked++
      response.end(JSON.stringify(flagged({ violence: true })))
    })
    const moderator = createModerator({ url, deadlineMs: 60_000 })
    const review = (prompt: string) => moderator.review({ prompt, negativePrompt: '', nsfwModel: false })
    expect(await review('nude child')).toMatchObject({ category: 'sexual content with minors' })
    expect(asked).toBe(0)
    expect(await review('a lighthouse')).toMatchObject({ category: 'violence' })
    expect(asked).toBe(1)
  })
})
