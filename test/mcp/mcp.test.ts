import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import sharp from 'sharp'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Answer, call, PROMPT } from '../support/client.js'
import { givenOwnModels, MUTED, TURBO } from '../support/given-models.js'
import { chargesOf, creditsOf, type GivenUser, givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'

const SMALL = { prompt: 'a lighthouse at dusk', width: 256, height: 256, steps: 1 }
const MANY = { RATE_LIMIT_MAX: '100000' }

/** The SDK's own client, as an agent has it. */
async function agentOf(url: string, { key }: Pick<GivenUser, 'key'>) {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }) as never)
  onTestFinished(() => client.close())
  return client
}

type Result = CallToolResult & { structuredContent?: Record<string, never> }
type CallOptions = Parameters<Client['callTool']>[2]

const use = async (agent: Client, name: string, args: object = {}, options?: CallOptions) =>
  (await agent.callTool({ name, arguments: { ...args } }, undefined, options)) as Result

const wordsOf = ({ content }: Result) => content.flatMap((it) => (it.type === 'text' ? [it.text] : [])).join('\n')

/** A single message without the SDK. */
const post = (url: string, body: unknown, key?: string, headers: Record<string, string> = {}): Promise<Answer> =>
  call(url, 'POST', '/mcp', {
    body,
    ...(key !== undefined && { key }),
    headers: { accept: 'application/json, text/event-stream', ...headers },
  })

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

function expectRefused(result: Result, sentence: RegExp): void {
  expect(wordsOf(result)).toMatch(sentence)
  expect(result.isError).toBe(true)
}

describe('the MCP server, with a worker', () => {
  const context = useService({ worker: true, env: MANY })

  it('an agent reads what it may call, draws with progress, and finds its images again', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const agent = await agentOf(url, user)
    const { tools } = await agent.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual([
      ...['check_prompt', 'generate_image', 'get_account', 'get_generation', 'list_images', 'list_models'],
    ])
    for (const { description, outputSchema, annotations } of tools) {
      expect(description?.length).toBeGreaterThan(60)
      expect(outputSchema).toBeDefined()
      expect(annotations).toMatchObject({ openWorldHint: false })
    }
    const generate = tools.find(({ name }) => name === 'generate_image')
    expect(generate?.inputSchema.required).toEqual(['prompt'])
    expect(generate?.inputSchema.properties).toMatchObject({
      width: { type: 'integer', minimum: 256, description: expect.stringMatching(/a multiple of 8; 832 by default$/) },
      wait_seconds: { minimum: 0, maximum: 50, description: expect.stringMatching(/45 by default$/) },
      sampler: { description: 'euler_a by default' },
    })

    const told: { progress: number; message?: string | undefined }[] = []
    const done = await use(
      agent,
      'generate_image',
      { ...SMALL, batch_size: 2, seed: 7 },
      {
        onprogress: ({ progress, message }) => told.push({ progress, message }),
      },
    )
    expect(done.isError).toBeUndefined()
    const { id, images } = done.structuredContent as unknown as { id: string; images: { id: string; url: string }[] }
    // The first model that Create Image serves.
    expect(done.structuredContent).toMatchObject({
      ...{ status: 'succeeded', seed: 7, model_version_id: 1, credits_charged: 2, credits_left: 98, error: null },
      images: images.map(({ id: slug }) => ({
        ...{ id: slug, url: `http://easel.test/cdn/${slug}.png`, page_url: `http://easel.test/image/${slug}` },
      })),
    })
    expect(images).toHaveLength(2)
    expect(wordsOf(done)).toContain(images[0]?.url)
    expect(done.content.map(({ type }) => type)).toEqual(['image', 'image', 'text'])
    for (const it of done.content) {
      if (it.type !== 'image') continue
      const bytes = Buffer.from(it.data, 'base64')
      expect(await sharp(bytes).metadata()).toMatchObject({ width: 256, height: 256 })
    }
    expect(told[0]?.message).toMatch(/^Queued, place \d+\.$|^Drawing/)
    expect(told.map(({ progress }) => progress)).toEqual(
      [...new Set(told.map(({ progress }) => progress))].sort((a, b) => a - b),
    )

    const again = await use(agent, 'get_generation', { id })
    expect(again.structuredContent).toMatchObject({ id, status: 'succeeded', seed: 7 })
    expect(again.content.map(({ type }) => type)).toEqual(['image', 'image', 'text'])
    const { structuredContent: account } = await use(agent, 'get_account')
    expect(account).toMatchObject({ username: user.username, credits: 98, subscription: { status: 'active' } })
    const first = await use(agent, 'list_images', { limit: 1 })
    const { next_cursor: cursor } = first.structuredContent as unknown as { next_cursor: string }
    const second = await use(agent, 'list_images', { limit: 1, cursor })
    const listed = [first, second].flatMap((page) => page.structuredContent?.images)
    expect(listed).toMatchObject(images.map((it) => ({ id: it.id, prompt: SMALL.prompt, generation_id: id })))
    expect(second.structuredContent).toMatchObject({ next_cursor: null })
  })

  it('describes its tools so that every model may have them, Gemini too', async () => {
    const { url, db } = context.service
    const { tools } = await (await agentOf(url, await givenUser(db))).listTools()
    // Those of its Schema object that say something about a value of these types.
    const known = ['type', 'description', 'enum', 'properties', 'required', 'items', 'minimum', 'maximum']
    const more = ['minLength', 'maxLength', 'minItems', 'maxItems', 'pattern']
    const look = (schema: Record<string, unknown>, place: string): void => {
      expect(
        Object.keys(schema).filter((keyword) => ![...known, ...more].includes(keyword)),
        place,
      ).toEqual([])
      expect(['object', 'array', 'string', 'integer', 'number', 'boolean'], place).toContain(schema.type)
      for (const value of (schema.enum ?? []) as unknown[]) expect(typeof value, place).toBe('string')
      const properties = (schema.properties ?? {}) as Record<string, Record<string, unknown>>
      for (const [name, it] of Object.entries(properties)) look(it, `${place}.${name}`)
      for (const name of (schema.required ?? []) as string[]) expect(Object.keys(properties), place).toContain(name)
      if (schema.items) look(schema.items as Record<string, unknown>, `${place}[]`)
    }
    for (const { name, inputSchema } of tools) look(inputSchema, name)
    // What is not said there any more is checked all the same.
    const agent = await agentOf(url, await givenUser(db))
    for (const args of [{ width: 257 }, { height: 300.5 }, { unknown: 1 }])
      expect(await use(agent, 'generate_image', { ...SMALL, ...args })).toMatchObject({ isError: true })
  })

  it('lists the models with prices and the default', async () => {
    const { url, db } = context.service
    const { structuredContent } = await use(await agentOf(url, await givenUser(db)), 'list_models')
    const models = structuredContent?.models as unknown as {
      id: number
      is_default: boolean
      credits_per_image: number
    }[]
    expect(models.filter(({ is_default }) => is_default)).toMatchObject([{ id: 1, credits_per_image: 1 }])
    expect(models).toHaveLength(10)
  })

  it('lists what is a model’s own where it differs, draws with it, and says what had no effect', async () => {
    const { url, db } = context.service
    await givenOwnModels(db)
    const agent = await agentOf(url, await givenUser(db))
    const { structuredContent, ...listed } = await use(agent, 'list_models')
    const models = structuredContent?.models as unknown as { id: number }[]
    expect(models.find(({ id }) => id === TURBO.id)).toEqual({
      ...{ id: TURBO.id, name: 'turbo', model_name: 'Krea 2', base_model: 'Krea', nsfw: false },
      ...{ credits_per_image: 1, has_formula: true, is_default: false },
      defaults: { steps: 8, cfg_scale: 1, sampler: 'euler', width: 512, height: 512 },
      limits: { steps: { min: 1, max: 10 }, width: { min: 256, max: 1024 }, batch_size: { min: 1, max: 2 } },
      ...{ ignored: ['negative_prompt', 'cfg_scale'], size_multiple: 64, scale: 2 },
    })
    expect(Object.keys(models.find(({ id }) => id === 1) ?? {})).not.toContain('defaults')
    const line = wordsOf(listed as Result)
      .split('\n')
      .find((it) => it.startsWith(`${TURBO.id}: `))
    for (const part of [
      ...['Krea 2 turbo (Krea), from 1 credit per image;', 'steps 8', 'steps 1 to 10', 'batch_size 1 to 2'],
      ...['without effect: negative_prompt, cfg_scale', 'multiples of 64', '2 times as wide and as high'],
    ])
      expect(line).toContain(part)
    const asked = { prompt: 'a fox', model_version_id: MUTED.id, sampler: 'heun', width: 256, height: 256 }
    const done = await use(agent, 'generate_image', asked)
    expect(wordsOf(done)).toContain('Without effect on this model: sampler.')
    const { id } = done.structuredContent as unknown as { id: string }
    expect(await rowOf(db, { id })).toMatchObject({ sampler: 'ddim', negative_prompt: 'loud "colours"' })
    await db.pool.query('DELETE FROM model_versions WHERE id = $1', [TURBO.id])
  })

  it('shows a model large images scaled down, and links the full ones', async () => {
    const { url, db } = context.service
    const agent = await agentOf(url, await givenUser(db))
    const done = await use(agent, 'generate_image', { prompt: 'a stormy sea', batch_size: 2, steps: 1 })
    const shown = done.content.flatMap((it) => (it.type === 'image' ? [it] : []))
    expect(shown.map(({ mimeType }) => mimeType)).toEqual(Array(2).fill('image/webp'))
    const { format, height } = await sharp(Buffer.from(shown[0]?.data ?? '', 'base64')).metadata()
    expect({ format, height }).toEqual({ format: 'webp', height: 1024 })
    expect(shown.reduce((bytes, { data }) => bytes + data.length, 0)).toBeLessThan(1_000_000)
    expect(wordsOf(done)).toContain('the URL has the full PNG')
  })

  it('shows a model at most 1 MB of images in all, also where each of four would fit alone', async () => {
    const { url, db } = context.service
    const agent = await agentOf(url, await givenUser(db))
    const args = { prompt: 'a stormy sea', batch_size: 4, width: 512, height: 512, steps: 1 }
    const { content } = await use(agent, 'generate_image', args)
    const sizes = content.flatMap((it) => (it.type === 'image' ? [it.data.length] : []))
    expect(sizes).toHaveLength(4)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_000_000)
  })

  it('two agents at once see only their own generations', async () => {
    const { url, db } = context.service
    const users = await Promise.all([givenUser(db), givenUser(db)])
    const agents = await Promise.all(users.map((user) => agentOf(url, user)))
    const done = await Promise.all(agents.map((agent, n) => use(agent, 'generate_image', { ...SMALL, seed: n + 1 })))
    expect(done.map(({ structuredContent }) => structuredContent)).toMatchObject([{ seed: 1 }, { seed: 2 }])
    const [first] = done.map(({ structuredContent }) => (structuredContent as unknown as { id: string }).id)
    const [, other] = agents as [Client, Client]
    expectRefused(await use(other, 'get_generation', { id: first }), /Generation not found/)
    expect((await use(other, 'list_images')).structuredContent).toMatchObject({ images: [{ seed: 2 }] })
  })

  it('a repeat of the same request, or under the same key, is charged once', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const agent = await agentOf(url, user)
    const keyed = { ...SMALL, idempotency_key: 'mine' }
    const twice = [await use(agent, 'generate_image', keyed), await use(agent, 'generate_image', keyed)]
    expect(new Set(twice.map((it) => (it.structuredContent as unknown as { id: string }).id)).size).toBe(1)
    expect(wordsOf(twice[1] as Result)).toContain('nothing was charged again')

    const session = { 'mcp-session-id': crypto.randomUUID() }
    const send = (args: object) =>
      post(
        url,
        { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'generate_image', arguments: args } },
        user.key,
        session,
      )
    const idIn = ({ body }: Answer) => /"id":"(gen_\w+)"/.exec(body)?.[1]
    expect(idIn(await send(SMALL))).toBe(idIn(await send(SMALL)))
    // A client that counts from the start again asks for something else.
    expect(idIn(await send({ ...SMALL, seed: 8 }))).not.toBe(idIn(await send(SMALL)))
    expect(await chargesOf(db, user)).toEqual([...Array(3)].map(() => ['charge', -1]))
  })
})

describe('the MCP server, while generations wait', () => {
  const context = useService({ env: MANY })

  /** A call that waits, and the generation it waits for. */
  async function waitingCall(options: { user?: GivenUser; url?: string; args?: object; call?: CallOptions } = {}) {
    const { service } = context
    const user = options.user ?? (await givenUser(service.db))
    const agent = await agentOf(options.url ?? service.url, user)
    const result = use(agent, 'generate_image', { ...SMALL, ...options.args }, options.call)
    result.catch(() => undefined)
    const find = 'SELECT id FROM generations WHERE user_id = $1'
    const id = await until(async () => (await service.db.pool.query(find, [user.id])).rows[0]?.id as string, 'a submit')
    return { user, agent, result, id }
  }

  it('a client that cancels gets its credits back, and may go on at once', async () => {
    const { db } = context.service
    const stop = new AbortController()
    const { user, agent, result, id } = await waitingCall({ call: { signal: stop.signal } })
    stop.abort('changed my mind')
    await expect(result).rejects.toThrow('changed my mind')
    await until(async () => (await creditsOf(db, user)) === 100, 'the refund')
    expect(await rowOf(db, { id })).toMatchObject({ status: 'failed', error: 'Canceled.' })
    expect((await use(agent, 'get_generation', { id })).structuredContent).toMatchObject({ status: 'failed' })
  })

  it('a cancellation that reaches another server ends the call, too', async () => {
    const { service } = context
    const { url: other } = await service.server()
    const user = await givenUser(service.db)
    const session = { 'mcp-session-id': crypto.randomUUID() }
    const params = { name: 'generate_image', arguments: SMALL }
    const waited = post(service.url, { jsonrpc: '2.0', id: 0, method: 'tools/call', params }, user.key, session)
    await until(async () => (await creditsOf(service.db, user)) === 99, 'the charge')
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 0 } }
    // Neither another account's, nor another session's.
    await post(other, cancel, (await givenUser(service.db)).key, session)
    await post(other, cancel, user.key, { 'mcp-session-id': crypto.randomUUID() })
    expect(await creditsOf(service.db, user)).toBe(99)
    expect(await post(other, cancel, user.key, session)).toMatchObject({ status: 202 })
    expect((await waited).body).toContain('Canceled.')
    expect(await creditsOf(service.db, user)).toBe(100)
  })

  it('a cancellation that overtakes its call ends it, and nothing is charged', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const session = { 'mcp-session-id': crypto.randomUUID() }
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } }
    await post(service.url, cancel, user.key, session)
    const params = { name: 'generate_image', arguments: SMALL }
    const canceled = await post(
      service.url,
      { jsonrpc: '2.0', id: 'a', method: 'tools/call', params },
      user.key,
      session,
    )
    expect(canceled.body).toContain('Canceled.')
    expect(await chargesOf(service.db, user)).toEqual([])
  })

  it('a client that only hangs up has not canceled, and its image is made', async () => {
    const { service } = context
    const { user, agent, id } = await waitingCall()
    await agent.close()
    const worker = standInWorker(service.db)
    const claimed = await worker.claim()
    expect(claimed.id).toBe(id)
    await worker.succeed(claimed)
    const later = await use(await agentOf(service.url, user), 'get_generation', { id })
    expect(later.structuredContent).toMatchObject({ status: 'succeeded' })
  })

  it('a generation that fails says why, and that the credits came back', async () => {
    const { db } = context.service
    const { result } = await waitingCall()
    const worker = standInWorker(db)
    await worker.fail(await worker.claim(), 'The GPU is on fire.')
    expectRefused(await result, /^The GPU is on fire\. The credits were given back\.$/)
  })

  it('a generation that fails without a refund says only why', async () => {
    const { service } = context
    const { agent, id, result } = await waitingCall()
    const worker = standInWorker(service.db)
    await worker.fail(await worker.claim(), 'An image was refused by moderation.', false)
    expectRefused(await result, /^An image was refused by moderation\.$/)
    const later = await use(agent, 'get_generation', { id })
    expect(later.structuredContent).toMatchObject({ status: 'failed', error: 'An image was refused by moderation.' })
    expect(JSON.stringify(later.content)).not.toContain('given back')
  })

  it('answers with the id before clients give up, and get_generation waits for the end', async () => {
    const { service } = context
    const { agent, result, id } = await waitingCall({ args: { wait_seconds: 1 } })
    const late = await result
    expect(late.isError).toBeUndefined()
    expect(wordsOf(late)).toMatch(`Not ready after 1 s. The generation goes on: call get_generation with id "${id}"`)
    expect(late.structuredContent).toMatchObject({ id, status: 'queued', queue_position: 1, images: [] })
    const waited = use(agent, 'get_generation', { id, wait_seconds: 50 })
    const worker = standInWorker(service.db)
    await worker.fail(await worker.claim(), 'Broken.')
    expect((await waited).structuredContent).toMatchObject({ status: 'failed', error: 'Broken.' })
  })

  it('reads arguments as models and their programs write them', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    const own = await givenGeneration(db, user)
    const call = async (name: string, args: unknown) =>
      (await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }, user.key))
        .body.result
    for (const args of [null, '{}', '', { random_string: 'x' }]) {
      const { isError, structuredContent } = await call('get_account', args)
      expect([isError, structuredContent], JSON.stringify(args)).toMatchObject([undefined, { username: user.username }])
    }
    for (const args of [{ limit: '5', cursor: null, model_version_id: '' }, '{"limit": 5.0, "cursor": ""}'])
      expect(await call('list_images', args)).toMatchObject({ structuredContent: { images: [], next_cursor: null } })
    const seen = await agentOf(url, user)
    const waited = { id: own.id, wait_seconds: '0', hovercraft: null }
    expect((await use(seen, 'get_generation', waited)).structuredContent).toMatchObject({
      id: own.id,
      status: 'queued',
    })
    expectRefused(
      await use(seen, 'list_images', { limit: '5 or so' }),
      /^limit must be an integer from 1 to 50, without/,
    )
    expectRefused(await use(seen, 'check_prompt', { prompt: '' }), /^prompt is required/)
  })

  it('waits 45 s by default and 50 s at most, and nothing that it says asks for more', async () => {
    const { agent, result, id } = await waitingCall({ args: { wait_seconds: 0 } })
    const told = wordsOf(await result)
    expect(told).toMatch(
      /^Submitted\. The generation goes on: call get_generation with id "gen_\w+" and wait_seconds 45\.$/,
    )
    for (const [name, args] of [
      ['generate_image', SMALL],
      ['get_generation', { id }],
    ] as const)
      for (const wait_seconds of [51, 60, -1, 1.5, '51'])
        expectRefused(
          await use(agent, name, { ...args, wait_seconds }),
          /^wait_seconds must be an integer from 0 to 50\.$/,
        )
    const { tools } = await agent.listTools()
    const words = JSON.stringify([agent.getInstructions(), tools, told])
    for (const [, seconds] of words.matchAll(/(\d+) s\b|wait_seconds\W+(\d+)/g))
      expect(Number(seconds ?? 0)).toBeLessThanOrEqual(50)
    // The time to wait is no part of the request.
    const keyed = { ...SMALL, idempotency_key: 'mine' }
    const other = await waitingCall({ args: { ...keyed, wait_seconds: 0 } })
    const again = await use(other.agent, 'generate_image', { ...keyed, wait_seconds: 1 })
    expect(again.structuredContent).toMatchObject({ id: other.id })
  })

  it('a server that leaves tells those who wait where to go on', async () => {
    const { service } = context
    const { url, stop } = await service.server({ waitersMs: 100 })
    const { user, result } = await waitingCall({ url })
    await stop()
    expect(wordsOf(await result)).toMatch(/^This server is restarting\. .* call get_generation/)
    expect(await creditsOf(service.db, user)).toBe(99)
  })

  it('a key that is revoked ends the wait and opens nothing any more', async () => {
    const { service } = context
    const { user, agent, result } = await waitingCall()
    await service.db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [user.keyId])
    expectRefused(await result, /unknown, has expired or has been revoked/)
    await expect(use(agent, 'get_account')).rejects.toThrow(/revoked/)
  })

  it('an account may have eight calls that wait, and no ninth', async () => {
    const { agent, id } = await waitingCall()
    const more = Array.from({ length: 8 }, () => use(agent, 'get_generation', { id, wait_seconds: 50 }))
    for (const each of more) each.catch(() => undefined)
    expectRefused(await Promise.race(more), /You already have 8/)
    expect((await use(agent, 'get_account')).isError).toBeUndefined()
  })
})

describe('a refusal that a model reads', () => {
  const context = useService({ env: MANY })
  const agentWith = async (options?: Parameters<typeof givenUser>[1]) => {
    const user = await givenUser(context.service.db, options)
    return { user, agent: await agentOf(context.service.url, user) }
  }

  it('says what to do, and charges nothing', async () => {
    const { user, agent } = await agentWith()
    for (const [args, sentence] of [
      [{ prompt: 'a naked child' }, /^Prompt flagged by moderation: /],
      [{ ...SMALL, model_version_id: 999 }, /^Model version 999 not found\. list_models lists/],
      [{ ...SMALL, steps: 0 }, /^steps must be an integer from 1 to 100\.$/],
      [{ ...SMALL, num_images: 2 }, /^Unknown field "num_images": did you mean "batch_size"\?$/],
      [{ width: 2048, height: 2048, prompt: 'x' }, /^width × height must be at most/],
      [{}, /^prompt is required/],
      [{ ...SMALL, idempotency_key: ' ' }, /^idempotency_key must be/],
    ] as const)
      expectRefused(await use(agent, 'generate_image', args), sentence)
    expectRefused(await use(agent, 'get_generation', { id: 'gen_nothing' }), /^Generation not found/)
    expectRefused(await use(agent, 'list_images', { cursor: 'broken' }), /^cursor must be a next_cursor/)
    expectRefused(await use(agent, 'list_images', { model_version_id: 1e300 }), /^model_version_id must be an integer/)
    await expect(use(agent, 'draw')).rejects.toThrow(/Unknown tool: draw/)
    expect(await chargesOf(context.service.db, user)).toEqual([])
  })

  it('names the limits of the model that was asked for', async () => {
    await givenOwnModels(context.service.db)
    const { user, agent } = await agentWith()
    for (const [args, sentence] of [
      [{ steps: 11 }, 'steps must be from 1 to 10 for Krea 2 turbo.'],
      [{ batch_size: 3 }, 'batch_size must be from 1 to 2 for Krea 2 turbo.'],
      [{ width: 1088 }, 'width must be from 256 to 1024 for Krea 2 turbo.'],
      [{ height: 520 }, 'height must be a multiple of 64 for Krea 2 turbo.'],
    ] as const) {
      const refused = await use(agent, 'generate_image', { prompt: 'a fox', model_version_id: TURBO.id, ...args })
      expect([refused.isError, wordsOf(refused)]).toEqual([true, sentence])
    }
    expect(await chargesOf(context.service.db, user)).toEqual([])
  })

  it('names missing credits, a missing subscription or an active generation', async () => {
    const poor = await agentWith({ credits: 0 })
    expectRefused(await use(poor.agent, 'generate_image', SMALL), /^Insufficient credits/)
    const none = await agentWith({ subscription: null })
    expectRefused(await use(none.agent, 'generate_image', SMALL), /^No active subscription/)
    const busy = await agentWith()
    const { id } = await givenGeneration(context.service.db, busy.user)
    expectRefused(await use(busy.agent, 'generate_image', SMALL), new RegExp(`active generation \\(${id}\\)`))
  })

  it('can be asked for beforehand, for free: check_prompt', async () => {
    const { user, agent } = await agentWith()
    const flagged = await use(agent, 'check_prompt', { prompt: 'a naked child' })
    const nothingTold = { flagged: true, parameter: null, category: null, matched: [] }
    expect(flagged.structuredContent).toEqual(nothingTold)
    expect(wordsOf(flagged)).toBe('The prompt would be refused.')
    const told = await use(agent, 'check_prompt', { prompt: 'necrophilia' })
    expect(told.structuredContent).toMatchObject({ flagged: true, parameter: 'prompt', matched: ['necrophil'] })
    expect(wordsOf(told)).toMatch(/^The prompt would be refused \(.*Rephrase it\.$/)
    const fine = await use(agent, 'check_prompt', { prompt: SMALL.prompt })
    expect(fine.structuredContent).toMatchObject({ flagged: false, matched: [] })
    expect(await creditsOf(context.service.db, user)).toBe(100)
  })
})

describe('POST /mcp', () => {
  const context = useService({ env: { RATE_LIMIT_WINDOW_SECONDS: '600' } })

  it('is open to personal keys only, and answers 401 without one', async () => {
    const { url, db } = context.service
    const without = await post(url, LIST)
    expect(without.status).toBe(401)
    expect(without.headers.get('www-authenticate')).toBe('Bearer')
    // A client that knows OAuth only looks here, and says that it cannot sign in; docs/api.md says what to do.
    for (const document of ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server'])
      expect((await call(url, 'GET', `/.well-known/${document}`)).status).toBe(404)
    expect(without.body).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { message: expect.stringContaining('API key') },
    })
    const developer = await givenUser(db, { developer: { concurrency: 1 } })
    expect(await post(url, LIST, developer.key)).toMatchObject({ status: 403 })
    await expect(agentOf(url, { key: 'easel_no' })).rejects.toThrow()
  })

  it('refuses pages of other websites, whatever their key', async () => {
    const { url, db } = context.service
    const { key } = await givenUser(db)
    for (const origin of ['https://evil.test', 'null', 'http://easel.test.evil.test', 'https://easel.test'])
      expect(await post(url, LIST, key, { origin })).toMatchObject({ status: 403 })
    expect(await post(url, LIST, key, { origin: 'http://easel.test' })).toMatchObject({ status: 200 })
  })

  it('lets pages of the origins that the operator names call, and read its answers', async () => {
    const { service } = context
    const { key } = await givenUser(service.db)
    const named = 'https://app.example, HTTP://localhost:6274/,vscode-webview://a1b2,https://port.example:443'
    const { url } = await service.server({}, { MCP_ALLOWED_ORIGINS: named })
    for (const origin of [
      'https://app.example',
      'http://localhost:6274',
      'vscode-webview://a1b2',
      'https://port.example',
    ]) {
      const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
      const preflight = await call(url, 'OPTIONS', '/mcp', { headers: { origin, ...asked } })
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
      for (const answer of [
        preflight,
        await post(url, LIST, key, { origin }),
        await post(url, LIST, 'no', { origin }),
      ]) {
        expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
        expect(answer.headers.get('access-control-expose-headers')).toContain('mcp-session-id')
      }
    }
    for (const origin of ['http://app.example', 'https://app.example.evil.test', 'http://localhost:6275', 'null']) {
      const preflight = await call(url, 'OPTIONS', '/mcp', { headers: { origin } })
      for (const answer of [preflight, await post(url, LIST, key, { origin })]) {
        expect(answer.status).toBe(403)
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      }
    }
  })

  it('answers in a form that the client accepts', async () => {
    const { service } = context
    const { url } = await service.server({}, MANY)
    const { key } = await givenUser(service.db)
    const look = { ...LIST, method: 'tools/call', params: { name: 'get_generation', arguments: { id: 'gen_no' } } }
    const typeOf = async (message: object, accept: string | undefined) => {
      const answer = await fetch(`${url}/mcp`, {
        method: 'POST',
        body: JSON.stringify(message),
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          ...(accept !== undefined && { accept }),
        },
      })
      const body = await answer.text()
      if (answer.status === 200) expect(body).toContain('"jsonrpc":"2.0"')
      return `${answer.status} ${answer.headers.get('content-type')?.split(/[/;]/)[1]}`
    }
    for (const [accept, listed, looked] of [
      [undefined, '200 json', '200 event-stream'],
      ['', '200 json', '200 event-stream'],
      ['*/*', '200 json', '200 event-stream'],
      ['application/json, text/event-stream', '200 json', '200 event-stream'],
      ['TEXT/Event-Stream;q=0.2 , Application/JSON;q=0.1', '200 json', '200 event-stream'],
      ['application/*, text/*', '200 json', '200 event-stream'],
      ['application/json', '200 json', '200 json'],
      ['application/json; charset=utf-8', '200 json', '200 json'],
      ['application/*;q=0.5', '200 json', '200 json'],
      ['text/html, application/json;q=0.9, */*;q=0', '200 json', '200 json'],
      ['application/json, text/event-stream;q=0', '200 json', '200 json'],
      ['*/*, text/event-stream;q=0.0', '200 json', '200 json'],
      ['text/event-stream', '200 event-stream', '200 event-stream'],
      ['text/*', '200 event-stream', '200 event-stream'],
      ['*/*, application/json;q=0', '200 event-stream', '200 event-stream'],
      ['application/json;profile=x', '200 json', '200 json'],
      ['application/json ; profile = x ; q=0.5', '200 json', '200 json'],
      ['application/json;profile="a,b;q=0;\\"c"', '200 json', '200 json'],
      ['application/json;q=0.5;ext=1', '200 json', '200 json'],
      ['application/json;profile', '200 json', '200 json'],
      ['application/*;v=1, text/html', '200 json', '200 json'],
      ['*/*;v=1', '200 json', '200 event-stream'],
      ['text/event-stream;v=1;charset=utf-8', '200 event-stream', '200 event-stream'],
      ['application/json;v=1, text/event-stream;v=1', '200 json', '200 event-stream'],
      // A range without parameters is all that matches here, and says more than one with some.
      ['application/json;v=1, text/event-stream', '200 event-stream', '200 event-stream'],
      ['application/json;v=1;q=0, application/json', '200 json', '200 json'],
      ['application/json;v=1;Q=0', '406 json', '406 json'],
      ['image/png;v=1, application/jsonp;profile="application/json"', '406 json', '406 json'],
      ['text/html', '406 json', '406 json'],
      ['*/*;q=0', '406 json', '406 json'],
      ['application/jsonp, text/event-streams', '406 json', '406 json'],
    ] as const)
      expect([accept, await typeOf(LIST, accept), await typeOf(look, accept)]).toEqual([accept, listed, looked])
    const refused = await post(url, LIST, key, { accept: 'image/png' })
    expect(refused.body.error.message).toBe(
      'Answers are application/json or text/event-stream: accept one of them, or both.',
    )
  })

  it('takes POST only: it keeps no sessions and has nothing to tell by itself', async () => {
    const { url, db } = context.service
    const { key } = await givenUser(db)
    for (const method of ['GET', 'DELETE']) {
      // Clients end a session with such a DELETE.
      const headers = { accept: 'text/event-stream', 'content-type': 'application/json' }
      const answer = await call(url, method, '/mcp', { key, headers })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('POST')
    }
  })

  it('answers what is no JSON-RPC message with an error of JSON-RPC', async () => {
    const { url, db } = context.service
    const { key } = await givenUser(db)
    for (const [body, status, code] of [
      ['{broken', 400, -32700],
      ['null', 400, -32700],
      ['"text"', 400, -32700],
      [{ jsonrpc: '1.0', id: 1, method: 'tools/list' }, 400, -32700],
      [[LIST, LIST], 400, -32700],
      [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 7 } }, 200, -32602],
      [{ jsonrpc: '2.0', id: 1, method: 'nothing' }, 200, -32601],
    ] as const) {
      const answer = await post(url, body, key)
      expect([answer.status, answer.body.error?.code], JSON.stringify(body)).toEqual([status, code])
    }
    const long = { ...LIST, params: { text: 'x'.repeat(70_000) } }
    expect(await post(url, long, (await givenUser(db)).key)).toMatchObject({ status: 413 })
  })

  it('counts into the rate limit of the Personal Access API', async () => {
    const { url, db } = context.service
    const { key } = await givenUser(db)
    for (let n = 0; n < 5; n++) await call(url, 'GET', '/api/v1/account', { key })
    const look = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_account', arguments: {} } }
    for (let n = 0; n < 5; n++) expect(await post(url, look, key)).toMatchObject({ status: 200 })
    const refused = await post(url, look, key)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.body.error.message).toMatch(/rate limit of 10 requests/)
    expect((await call(url, 'POST', '/api/v1/generate', { key, body: PROMPT })).status).toBe(429)
  })

  it('lets several clients of an account connect at once, within a limit of their own', async () => {
    const { url, db } = context.service
    const user = await givenUser(db)
    for (let n = 0; n < 6; n++) await (await agentOf(url, user)).listTools()
    for (let n = 0; n < 10; n++) expect((await call(url, 'GET', '/api/v1/account', user)).status).toBe(200)
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await post(url, LIST, user.key)).status))
    expect(statuses).toContain(200)
    expect(statuses).toContain(429)
  })
})
