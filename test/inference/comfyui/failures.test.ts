import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { BackendErrorKind } from '../../../src/generation/run/backend.js'
import { graphOf } from '../../../src/inference/comfyui/graph.js'
import { lookUp } from '../../../src/inference/comfyui/prompt-history.js'
import { until } from '../../support/until.js'
import { aRequest, failureOf, givenBackend, givenHttp, PONY } from './given.js'
import recorded from './recorded.json' with { type: 'json' }

const SECRET = 'an image of someone called Jane Roe'
const TROUBLE = '500 Internal Server Error\n\nServer got itself in trouble'

describe('a refused prompt means', () => {
  const kinds: Partial<Record<string, BackendErrorKind>> = {
    'bad sampler': 'unsupported',
    'bad scheduler': 'unsupported',
    'bad model': 'model_missing',
  }

  it.each(recorded.refusals.map(({ name, body }) => [name, kinds[name] ?? 'invalid_request', body] as const))(
    'as a real server refused it, %s: %s',
    async (_name, kind, body) => {
      const { standIn, generate } = await givenBackend()
      standIn.set({ fault: { status: 400, body } })
      const error = await failureOf(generate())
      expect(error.kind).toBe(kind)
      expect(error.publicMessage).not.toMatch(/127\.0\.0\.1|http|ckpt|safetensors|value_/)
      expect(error.message.length).toBeLessThan(500)
    },
  )

  it.each([
    [
      { status: 400, body: { error: { type: 'invalid_prompt_id', message: 'prompt_id must be a valid UUID' } } },
      'invalid_request',
    ],
    [{ status: 400, body: 'Bad Request' }, 'invalid_request'],
    [{ status: 413 }, 'invalid_request'],
    [{ status: 401 }, 'auth'],
    [{ status: 403 }, 'auth'],
    [{ status: 404 }, 'unusable'],
    [{ status: 302 }, 'unavailable'],
    [{ status: 429 }, 'busy'],
    [{ status: 502 }, 'unavailable'],
    [{ status: 503 }, 'unavailable'],
    [{ status: 504 }, 'unavailable'],
    [{ status: 500, body: TROUBLE }, 'backend_fault'],
    [{ status: 200, body: { number: 1 } }, 'bad_output'],
    ['garbage', 'bad_output'],
    ['drop', 'lost'],
  ] as const)('answered with %j: %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error.kind).toBe(kind)
    expect(error.publicMessage).toMatch(/^[A-Z][^.]*\.$/)
    expect(`${error.message} ${error.cause}`).not.toContain(SECRET)
  })

  it('the sampler was not listed after all: the user reads which', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 400, body: recorded.refusals.find(({ name }) => name === 'bad sampler')?.body } })
    expect((await failureOf(generate({ sampler: 'unipc' }))).publicMessage).toBe(
      'The sampler "unipc" is not available on the GPU servers.',
    )
  })

  it('nothing about the text that a complaint repeats', async () => {
    const { standIn, generate } = await givenBackend()
    const error = {
      type: 'invalid_input_type',
      details: 'text, Roe, no text',
      extra_info: { input_name: 'text' },
    }
    const node_errors = { '6': { class_type: 'CLIPTextEncode', errors: [error] } }
    const said = { type: 'prompt_outputs_failed_validation', message: `bad: ${SECRET}` }
    for (const body of [
      { error: said, node_errors },
      { error: said, node_errors: {} },
    ]) {
      standIn.set({ fault: { status: 400, body } })
      const { message, cause } = await failureOf(generate({ prompt: SECRET }))
      expect(`${message} ${cause}`).not.toMatch(/image|Roe/)
    }
  })
})

it('takes back a prompt of which the server would leave out an image', async () => {
  const { standIn, generate, queue } = await givenBackend({ latencyMs: 10_000 })
  const attemptId = randomUUID()
  const refused = recorded.refusals.find(({ name }) => name === 'seed -1')?.body.node_errors
  standIn.set({ fault: { status: 200, body: { prompt_id: attemptId, number: 1, node_errors: refused } } })
  expect((await failureOf(generate({ attemptId }))).kind).toBe('invalid_request')
  expect(await queue()).toEqual([])
})

describe('a prompt that ran into', () => {
  it.each([
    ['out_of_memory', 'oom', 'The GPU ran out of memory; try a smaller size or fewer images.'],
    ['corrupt_checkpoint', 'model_missing', 'The model is not available on the GPU servers.'],
    ['no_text_encoder', 'model_missing', 'The model is not available on the GPU servers.'],
    ['exception', 'backend_fault', 'The GPU server failed while generating.'],
    ['text_exception', 'backend_fault', 'The GPU server failed while generating.'],
  ] as const)('%s is %s', async (run, kind, publicMessage) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error).toMatchObject({ kind, publicMessage })
    expect(`${error.message} ${error.cause}`).not.toMatch(/image|Roe/)
    standIn.set({ run: 'none' })
    expect(await generate()).toHaveLength(1)
  })

  it('someone else’s interrupt is a fault of the server', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 })
    const failed = failureOf(generate())
    await standIn.seen(({ path }) => path === '/prompt')
    await fetch(`${standIn.url}/interrupt`, { method: 'POST' })
    expect(await failed).toMatchObject({ kind: 'backend_fault', message: expect.stringContaining('interrupted') })
  })

  it.each([
    ['corruptCheckpoint', 'model_missing', /SafetensorError: Error while deserializing header/],
    ['interrupted', 'backend_fault', /interrupted by someone else/],
  ] as const)('what a real server recorded as %s is %s', async (name, kind, message) => {
    const { standIn, generate } = await givenBackend()
    const attemptId = randomUUID()
    const body = { [attemptId]: { prompt: [], outputs: {}, status: recorded[name], meta: {} } }
    standIn.set({ fault: { status: 200, body }, on: 'GET /history' })
    expect(await failureOf(generate({ attemptId }))).toMatchObject({ kind, message: expect.stringMatching(message) })
  })

  it('its end together with the server is what the event said', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 50 })
    standIn.set({ run: 'out_of_memory', fault: { status: 200, body: {} }, on: 'GET /history' })
    expect((await failureOf(generate())).kind).toBe('oom')
  })
})

describe('a success is not believed when', () => {
  it.each(['wrong_size', 'broken_image', 'no_file', 'two_files', 'other_seed'] as const)('it hides %s', async (run) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run })
    expect((await failureOf(generate({ seeds: [4, 5] }))).kind).toBe('bad_output')
    standIn.set({ run: 'none' })
    expect(await generate({ seeds: [6, 7] })).toHaveLength(2)
  })

  it('its image is gone', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 404 }, on: 'GET /view' })
    expect(await failureOf(generate())).toMatchObject({
      kind: 'bad_output',
      message: expect.stringContaining('no longer has an image'),
    })
  })

  it('its history has a form that is not known', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 })
    const attemptId = randomUUID()
    const failed = failureOf(generate({ attemptId }))
    await standIn.seen(({ path }) => path === '/prompt')
    standIn.set({ fault: { status: 200, body: { [attemptId]: { done: true } } }, on: 'GET /history' })
    expect((await failed).kind).toBe('bad_output')
  })
})

it('takes a success as a real server recorded it', async () => {
  const { standIn, generate } = await givenBackend({ models: ['noise-sd15.safetensors', PONY] })
  const [id, entry] = Object.entries(recorded.history)[0] ?? []
  // As it was recorded a SaveImage kept the image.
  const body = JSON.parse(
    JSON.stringify({ [String(id)]: entry }).replace('"filename_prefix":"svc"', `"easel_attempt":"${id}"`),
  )
  standIn.set({ fault: { status: 200, body }, on: 'GET /history' })
  const other = await givenBackend()
  const drawn = await other.generate({ width: 64, height: 64 })
  standIn.files.set('output/svc_00001_.png', drawn[0]?.bytes as Buffer)
  const asked = { prompt: 'a lighthouse', negativePrompt: 'blurry', width: 64, height: 64, steps: 2, cfgScale: 7 }
  const images = await generate({ ...asked, attemptId: String(id), model: 'noise-sd15.safetensors' })
  expect(images).toEqual(drawn)
})

describe('a prompt is lost when', () => {
  it.each(['old', '0.3.64'] as const)('the server (%s) was restarted in the middle', async (version) => {
    const { standIn, generate } = await givenBackend({ version, latencyMs: 10_000 })
    const failed = failureOf(generate())
    await standIn.seen(({ path }) => path === '/prompt')
    standIn.restart()
    expect(await failed).toMatchObject({
      kind: 'lost',
      publicMessage: 'The connection to the GPU server was lost.',
    })
    standIn.set({ latencyMs: 0 })
    expect(await generate()).toHaveLength(1)
  })

  it('the server stays away, and the next finds it unavailable', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 })
    const failed = failureOf(generate())
    await standIn.seen(({ path }) => path === '/prompt')
    await standIn.refuse()
    expect((await failed).kind).toBe('lost')
    expect((await failureOf(generate())).kind).toBe('unavailable')
  })

  it('the server does not tell what became of it, and it is taken back', async () => {
    const { standIn, generate, queue } = await givenBackend({ latencyMs: 10_000 })
    standIn.set({ fault: 'garbage', on: 'GET /history' })
    expect((await failureOf(generate())).kind).toBe('lost')
    expect(await queue()).toEqual([])
  })

  it('the server falls silent for too long', async () => {
    const { standIn, generate } = await givenBackend(
      { latencyMs: 10_000 },
      { patience: { answerMs: 400, awayMs: 0, silentMs: 100 } },
    )
    const failed = failureOf(generate())
    await standIn.seen(({ path }) => path === '/prompt')
    standIn.set({ fault: 'hang', on: '' })
    expect((await failed).kind).toBe('lost')
  })
})

it('an answer to a submission that does not come is waited for like any other, then looked for', async () => {
  const { standIn, generate } = await givenBackend({}, { patience: { answerMs: 200, awayMs: 0, silentMs: 0 } })
  standIn.set({ fault: 'hang' })
  expect(await failureOf(generate())).toMatchObject({
    kind: 'lost',
    message: expect.stringContaining('did not say whether it took the prompt'),
  })
})

describe('a prompt is not lost when', () => {
  it('only the answer to its submission is', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: 'drop_answer' })
    expect(await generate()).toHaveLength(1)
    expect(standIn.asked()).toHaveLength(1)
  })

  it('it goes from the queue into the history between two questions', async () => {
    const { standIn } = await givenBackend()
    const http = givenHttp(standIn.inferenceUrl)
    const { signal } = new AbortController()
    const { nodes } = graphOf(aRequest(), PONY, { name: 'euler', schedule: 'normal' })
    const { prompt_id: id } = JSON.parse((await http.post('/prompt', { prompt: nodes }, signal)).text)
    await until(async () => (await http.get('/queue', signal)).text.includes('"queue_running":[]'), 'the end')
    standIn.set({ fault: { status: 200, body: {} }, on: 'GET /history', times: 1 })
    expect(await lookUp(http, id, signal)).toMatchObject({ status: { succeeded: true } })
  })

  it.each(['drop', 'garbage', { status: 502 }] as const)(
    'the server answers a few questions with %j',
    async (fault) => {
      const patience = { answerMs: 10_000, awayMs: 10_000, silentMs: 10_000 }
      const { standIn, generate } = await givenBackend({ latencyMs: 300 }, { patience })
      const images = generate()
      await standIn.seen(({ path }) => path === '/prompt')
      standIn.set({ fault, on: 'GET /', times: 2 })
      expect(await images).toHaveLength(1)
      expect(standIn.asked()).toHaveLength(1)
    },
  )

  it.each(['drop', { status: 502 }] as const)('the download of its image is answered once with %j', async (fault) => {
    const { standIn, generate } = await givenBackend(
      {},
      { patience: { answerMs: 10_000, awayMs: 10_000, silentMs: 0 } },
    )
    standIn.set({ fault, on: 'GET /view', times: 1 })
    expect(await generate()).toHaveLength(1)
    expect(standIn.asked()).toHaveLength(1)
  })
})

it('asks a server that failed anew what it has', async () => {
  const { standIn, generate } = await givenBackend()
  const listings = () => standIn.journal.filter(({ path }) => path === '/models/checkpoints').length
  await generate()
  await generate()
  expect(listings()).toBe(1)
  standIn.set({ fault: 'drop', times: 1 })
  await failureOf(generate())
  await generate()
  expect(listings()).toBe(2)
})
