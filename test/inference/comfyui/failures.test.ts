import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { BackendErrorKind } from '../../../src/core/generations/run/backend.js'
import { lookUp } from '../../../src/inference/comfyui/prompt-history.js'
import { until } from '../../support/until.js'
import { expectDiscreet, failureOf, PONY } from '../given.js'
import { givenBackend, givenHttp, givenPrompt, isPrompt } from './given.js'
import recorded from './recorded.json' with { type: 'json' }

const SECRET = 'an image of someone called Jane Roe'
const PATIENT = { answerMs: 60_000, awayMs: 60_000, silentMs: 60_000 }
const TROUBLE = '500 Internal Server Error\n\nServer got itself in problem'

describe('a submitted prompt', () => {
  const kinds: Partial<Record<string, BackendErrorKind>> = {
    'bad sampler': 'unsupported',
    'bad scheduler': 'unsupported',
    'bad model': 'model_missing',
  }

  it.each(recorded.refusals.map(({ name, body }) => [name, kinds[name] ?? 'invalid_request', body] as const))(
    'that a real server refused for %s means %s',
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
    [{ status: 500, body: TROUBLE }, 'backend_fault'],
    [{ status: 200, body: { number: 1 } }, 'bad_output'],
  ] as const)('that is answered with %j means %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error.kind).toBe(kind)
    expectDiscreet(error, SECRET)
  })

  it('whose sampler was not listed after all tells the subscriber which', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 400, body: recorded.refusals.find(({ name }) => name === 'bad sampler')?.body } })
    expect((await failureOf(generate({ sampler: 'unipc' }))).publicMessage).toBe(
      'The sampler "unipc" is not available on the GPU servers.',
    )
  })

  it('tells nobody the text that its complaint repeats', async () => {
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
  const { standIn, generate } = await givenBackend()
  const attemptId = randomUUID()
  const refused = recorded.refusals.find(({ name }) => name === 'seed -1')?.body.node_errors
  standIn.set({ fault: { status: 200, body: { prompt_id: attemptId, number: 1, node_errors: refused } } })
  expect((await failureOf(generate({ attemptId }))).kind).toBe('invalid_request')
  expect(standIn.queue()).toEqual([])
})

describe('a failed prompt', () => {
  it.each([
    ['out_of_memory', 'oom', 'The GPU ran out of memory; try a smaller size or fewer images.'],
    ['corrupt_checkpoint', 'model_missing', 'The model is not available on the GPU servers.'],
    ['no_text_encoder', 'model_missing', 'The model is not available on the GPU servers.'],
    ['exception', 'backend_fault', 'The GPU server failed while generating.'],
    ['text_exception', 'backend_fault', 'The GPU server failed while generating.'],
  ] as const)('with %s means %s', async (run, kind, publicMessage) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error).toMatchObject({ kind, publicMessage })
    expect(`${error.message} ${error.cause}`).not.toMatch(/image|Roe/)
    standIn.set({ run: 'none' })
    expect(await generate()).toHaveLength(1)
  })

  it.each([
    ['RuntimeError', 'CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`', 'oom'],
    [
      'RuntimeError',
      'Could not allocate tensor with 8192 bytes. There is not enough GPU video memory available!',
      'oom',
    ],
    ['RuntimeError', 'level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)', 'oom'],
    ['RuntimeError', "DefaultCPUAllocator: can't allocate memory: you tried to allocate 141557760 bytes.", 'oom'],
    ['MemoryError', '', 'oom'],
    ['OSError', 'unable to mmap 6938040682 bytes from file <x.safetensors>: Cannot allocate memory (12)', 'oom'],
    ['RuntimeError', 'CUDA error: invalid device function', 'backend_fault'],
    ['RuntimeError', 'CUDA error: an illegal memory access was encountered', 'backend_fault'],
    ['ModuleNotFoundError', "No module named 'x'", 'backend_fault'],
    ['RuntimeError', 'ERROR: Could not detect model type of: /models/x.safetensors', 'model_missing'],
    ['FileNotFoundError', "[Errno 2] No such file or directory: '/models/x.ckpt'", 'model_missing'],
    ['_pickle.UnpicklingError', 'Weights only load failed. invalid load key', 'model_missing'],
  ])('with the error %s: %s while its checkpoint is loaded means %s', async (type, message, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run: { node: 'CheckpointLoaderSimple', type, message } })
    expect((await failureOf(generate())).kind).toBe(kind)
  })

  it.each([
    ['corruptCheckpoint', 'model_missing', /SafetensorError: Error while deserializing header/],
    ['interrupted', 'backend_fault', /interrupted by someone else/],
  ] as const)('that a real server recorded as %s means %s', async (name, kind, message) => {
    const { standIn, generate } = await givenBackend()
    const attemptId = randomUUID()
    const body = { [attemptId]: { prompt: [], outputs: {}, status: recorded[name], meta: {} } }
    standIn.set({ fault: { status: 200, body }, on: 'GET /history' })
    expect(await failureOf(generate({ attemptId }))).toMatchObject({ kind, message: expect.stringMatching(message) })
  })

  it('that ran out of memory makes room for the next try, another one does not', async () => {
    const { standIn, generate } = await givenBackend()
    const freed = () => standIn.journal.flatMap(({ path, body }) => (path === '/free' ? [body] : []))
    standIn.set({ run: 'exception' })
    await failureOf(generate())
    expect(freed()).toEqual([])
    standIn.set({ run: 'out_of_memory' })
    await failureOf(generate())
    expect(freed()).toEqual([{ unload_models: true, free_memory: true }])
  })

  it('whose error only an event could tell means what the event said', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run: 'out_of_memory', fault: { status: 200, body: {} }, on: 'GET /history' })
    expect((await failureOf(generate())).kind).toBe('oom')
  })
})

describe('a success is not believed when', () => {
  it('it hides that there is no file', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run: 'no_file' })
    expect((await failureOf(generate({ seeds: [4, 5] }))).kind).toBe('bad_output')
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
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    const attemptId = randomUUID()
    const failed = failureOf(generate({ attemptId }))
    await standIn.seen(isPrompt)
    standIn.set({ fault: { status: 200, body: { [attemptId]: { done: true } } }, on: 'GET /history' })
    expect((await failed).kind).toBe('bad_output')
  })
})

it('takes a success as a real server recorded it', async () => {
  const { standIn, generate } = await givenBackend({ models: ['noise-sd15.safetensors', PONY] })
  const [id, entry] = Object.entries(recorded.history)[0] ?? []
  // As it was recorded a SaveImage kept the image.
  const body = JSON.parse(
    JSON.stringify({ [String(id)]: entry })
      .replace('"filename_prefix":"svc"', `"easel_attempt":"${id}"`)
      .replaceAll('"9":', '"easel_image_0":'),
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
    const { standIn, generate } = await givenBackend({ version })
    standIn.set({ held: true })
    const failed = failureOf(generate())
    await standIn.seen(isPrompt)
    standIn.restart()
    expect(await failed).toMatchObject({
      kind: 'lost',
      publicMessage: 'The connection to the GPU server was lost.',
    })
    standIn.set({ held: false })
    expect(await generate()).toHaveLength(1)
  })

  it('the server does not tell what became of it, and it is taken back', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true, fault: 'garbage', on: 'GET /history' })
    expect((await failureOf(generate())).kind).toBe('lost')
    expect(standIn.queue()).toEqual([])
  })

  it('the server falls silent for too long', async () => {
    const { standIn, generate } = await givenBackend({}, { patience: { answerMs: 400, awayMs: 0, silentMs: 100 } })
    standIn.set({ held: true })
    const failed = failureOf(generate())
    await standIn.seen(isPrompt)
    standIn.set({ fault: 'hang', on: '' })
    expect((await failed).kind).toBe('lost')
  })
})

it('a prompt is lost when the answer to its submission does not come in time, and it is nowhere on the server', async () => {
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
    const id = await givenPrompt(standIn.url)
    await until(() => standIn.queue().length === 0, 'the end')
    standIn.set({ fault: { status: 200, body: {} }, on: 'GET /history', times: 1 })
    expect(await lookUp(http, id, signal)).toMatchObject({ status: { succeeded: true } })
  })

  it.each(['drop', 'garbage', { status: 502 }] as const)(
    'the server answers a few questions with %j',
    async (fault) => {
      const { standIn, generate } = await givenBackend({}, { patience: PATIENT })
      standIn.set({ held: true })
      const images = generate()
      await standIn.seen(isPrompt)
      const before = standIn.journal.length
      standIn.set({ fault, on: 'GET /', times: 2 })
      await until(() => standIn.journal.length > before + 2, 'a question after those that fail')
      standIn.set({ held: false })
      expect(await images).toHaveLength(1)
      expect(standIn.asked()).toHaveLength(1)
    },
  )

  it.each(['drop', { status: 502 }] as const)('the download of its image is answered once with %j', async (fault) => {
    const { standIn, generate } = await givenBackend({}, { patience: PATIENT })
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
