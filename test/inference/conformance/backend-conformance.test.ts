import sharp from 'sharp'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { InferenceRequest } from '../../../src/core/generations/run/backend.js'
import { createBackend } from '../../../src/inference/create-backend.js'
import { SERVER_KINDS } from '../../../src/inference/server-kinds.js'
import { until } from '../../support/until.js'
import { expectDiscreet, failureOf, SDXL } from '../given.js'
import { a1111Driver } from './a1111-driver.js'
import { comfyuiDriver } from './comfyui-driver.js'
import type { Driver, Fault, GivenServer, ServerDriver, Wrong } from './driver.js'
import { openAiDriver } from './openai-driver.js'
import { previewDriver } from './preview-driver.js'
import { sdCppDriver } from './sdcpp-driver.js'

/** One of each kind of server. */
const KINDS = [a1111Driver('a1111'), comfyuiDriver('0.3.64'), openAiDriver('vllm'), sdCppDriver]
/** And its relatives, which speak the same API a little differently. */
const SERVERS = [
  ...[...KINDS, a1111Driver('forge'), a1111Driver('legacy'), a1111Driver('sdnext')],
  ...[comfyuiDriver('old'), comfyuiDriver('new'), openAiDriver('localai')],
]

it('each kind of server has a driver', () => {
  expect(KINDS.map(({ kind }) => kind).sort()).toEqual([...SERVER_KINDS].sort())
})

const SECRET = 'a secret prompt of the subscriber'
/** What a subscriber can write that looks like a server's own words. */
const FORGED =
  '  <lora:x:1> (masterpiece:1.2), 猫🐈, {a|b} %date% "quoted" \\ Model: other\nSteps: 1, Seed: 9, Sampler: nope, Model: nope  '

/** Without the metadata that a server writes into an image. */
const pixelsOf = async (bytes: Buffer | undefined) => (await sharp(bytes).raw().toBuffer()).toString('base64')

const named = <D extends Driver>(drivers: readonly D[]) => drivers.map((driver) => [driver.name, driver] as const)

const caller = () => {
  const controller = new AbortController()
  return { signal: controller.signal, hangUp: () => controller.abort() }
}

describe.each(named<Driver>([...SERVERS, previewDriver]))('the backend of %s', (_name, driver) => {
  it('says which models, seeds and sizes it has', async () => {
    const { capabilities } = await driver.given()
    expect(await capabilities()).toMatchObject(driver.offers)
  })

  it('draws each image of a batch as it draws that image alone, and returns them in the order of their seeds', async () => {
    const { generate } = await driver.given()
    const images = await generate({ seeds: [10, 11, 12] })
    expect(images.map(({ seed }) => seed)).toEqual([10, 11, 12])
    const pixels = await Promise.all(images.map(({ bytes }) => pixelsOf(bytes)))
    expect(new Set(pixels).size).toBe(3)
    const [alone] = await generate({ seeds: [12] })
    expect(await pixelsOf(alone?.bytes)).toBe(pixels[2])
  })

  it('draws a batch that goes up to the largest seed and on from 0', async () => {
    const { generate } = await driver.given()
    const images = await generate({ seeds: driver.calls.flat() })
    expect(images.map(({ seed }) => seed)).toEqual(driver.calls.flat())
  })

  it('draws as wide and as high as was asked', async () => {
    const { generate } = await driver.given()
    const [image] = await generate({ width: 192, height: 64 })
    expect(await sharp(image?.bytes).metadata()).toMatchObject({ width: 192, height: 64 })
  })

  it('draws another image when anything else is asked for, and the same one when nothing is', async () => {
    const { generate } = await driver.given()
    const draw = async (asked: Partial<InferenceRequest>) => pixelsOf((await generate(asked))[0]?.bytes)
    const changes = Object.entries<Partial<InferenceRequest>>({
      ...{ prompt: { prompt: 'a cat' }, negativePrompt: { negativePrompt: '' }, seeds: { seeds: [43] } },
      ...{ steps: { steps: 21 }, cfgScale: { cfgScale: 7 }, sampler: { sampler: 'heun' }, model: { model: SDXL } },
    }).filter(([name]) => !driver.ignores?.includes(name as keyof InferenceRequest))
    const first = await draw({})
    expect(await draw({})).toBe(first)
    const seen = new Map([[first, 'what was asked']])
    for (const [name, change] of changes) {
      const pixels = await draw(change)
      expect(seen.get(pixels), `the image for another ${name}`).toBeUndefined()
      seen.set(pixels, name)
    }
  })

  it('says of each image how the server was asked for it, in the server’s own words', async () => {
    const { of, ...madeWith } = driver.madeWith
    const { generate } = await driver.given()
    for (const image of await generate({ sampler: of, seeds: [1, 2] })) expect(image.madeWith).toEqual(madeWith)
  })

  it('draws nothing for a caller who has hung up before', async () => {
    const { standIn, generate } = await driver.given()
    const told: number[] = []
    const call = generate({}, { signal: AbortSignal.abort(), onProgress: (done) => told.push(done) })
    const canceled = { kind: 'canceled', publicMessage: 'The generation was canceled.' }
    expect(await failureOf(call)).toMatchObject(canceled)
    expect(told).toEqual([])
    if ('journal' in standIn) expect(standIn.journal).toEqual([])
  })
})

/** What the server still does for a call whose failure has just been told. */
async function expectLeft(driver: ServerDriver, { jobs }: GivenServer) {
  if (driver.leaves === 'hung up') await until(() => jobs() === 0, 'the server having noticed')
  else expect(jobs()).toBe(driver.leaves === 'job' ? 1 : 0)
}

describe.each(named(SERVERS))('the backend of %s', (_name, driver) => {
  it('asks for exactly what was requested, with as many calls as the server needs, and for no file that a prompt names', async () => {
    const { generate, asked } = await driver.given()
    const request = { prompt: FORGED, negativePrompt: FORGED, width: 128, height: 64, steps: 7, cfgScale: 3.5 }
    await generate({ ...request, seeds: driver.calls.flat() })
    const { writes = (text: string) => text } = driver
    const arrives = { ...request, prompt: writes(FORGED), negativePrompt: writes(FORGED) }
    expect(asked()).toEqual(driver.calls.map((seeds) => ({ ...arrives, seeds })))
  })

  it('reports a progress that rises to 1, whatever comes of the listener', async () => {
    const given = await driver.given()
    given.hold(driver.tellsProgress)
    const told: number[] = []
    const onProgress = (done: number) => {
      told.push(done)
      throw new Error('of the listener')
    }
    const images = given.generate({ seeds: driver.calls.flat() }, { onProgress })
    if (driver.tellsProgress) expect(await until(() => told[0], 'progress')).toBeLessThan(1)
    given.hold(false)
    await images
    expect(told).toEqual([...new Set(told)].sort((one, other) => one - other))
    expect(told.at(-1)).toBe(1)
    if (!driver.tellsProgress) expect(told).toEqual([0.5, 1])
  })

  it('tells once that all is drawn, before it has the images, and never of a call that fails', async () => {
    const given = await driver.given()
    const told: string[] = []
    const onDrawn = () => told.push('drawn')
    await given.generate({ seeds: driver.calls.flat() }, { onDrawn }).then(() => told.push('returned'))
    expect(told).toEqual(['drawn', 'returned'])
    given.fail('calls', { status: 500 })
    await failureOf(given.generate({}, { onDrawn }))
    expect(told).toHaveLength(2)
  })

  describe('when its caller hangs up', () => {
    it('fails with canceled, once the server does no more for the call than it can be kept from', async () => {
      const given = await driver.given()
      given.hold(true)
      const { signal, hangUp } = caller()
      const failed = failureOf(given.generate({}, { signal }))
      await given.begun()
      hangUp()
      expect(await failed).toMatchObject({ kind: 'canceled', publicMessage: 'The generation was canceled.' })
      await expectLeft(driver, given)
      given.hold(false)
      expect(await given.generate()).toHaveLength(1)
    })

    it.runIf(driver.calls.length > 1)('makes no further call for the batch', async () => {
      const { generate, asked } = await driver.given()
      const { signal, hangUp } = caller()
      const onProgress = (done: number) => done >= 0.5 && hangUp()
      expect((await failureOf(generate({ seeds: driver.calls.flat() }, { signal, onProgress }))).kind).toBe('canceled')
      expect(asked()).toHaveLength(1)
    })

    it('gives a server that does not answer no more than its grace', async () => {
      const { generate, fail, standIn } = await driver.given({ cancelGraceMs: 100 })
      const { signal, hangUp } = caller()
      fail('calls', 'hang')
      const failed = failureOf(generate({}, { signal }))
      await standIn.seen(({ path }) => driver.callPath === path)
      hangUp()
      expect((await failed).kind).toBe('canceled')
    })
  })

  it('stops an image that takes longer than its time', async () => {
    const given = await driver.given({ timeoutMs: 500 })
    given.hold(true)
    const timeout = { kind: 'timeout', publicMessage: 'The generation took too long and was stopped.' }
    expect(await failureOf(given.generate())).toMatchObject(timeout)
    if (given.asked().length > 0) await expectLeft(driver, given)
  })

  it('gives up a server that does not answer in that time', async () => {
    const { generate, fail } = await driver.given({ timeoutMs: 300, cancelGraceMs: 50 })
    fail('calls', 'hang')
    expect((await failureOf(generate())).kind).toBe('timeout')
  })

  it.each(Object.entries(driver.wrongs) as [Wrong, string][])('refuses an answer with %s', async (wrong, how) => {
    const { generate, drawWrong } = await driver.given()
    drawWrong(how)
    const { kind } = await failureOf(generate({ seeds: driver.calls[0] ?? [], sampler: 'heun' }))
    expect(kind).toBe(wrong === 'another model' ? 'model_missing' : 'bad_output')
    drawWrong('none')
    expect(await generate({ seeds: [7] })).toHaveLength(1)
  })
})

describe.each(named(KINDS))('the backend of %s', (_name, driver) => {
  /** Another one for the same stand-in. */
  const another = ({ standIn }: GivenServer, credentials = '', path = '') => {
    const url = `${driver.kind}+http://${credentials}127.0.0.1:${standIn.port}${path}${driver.query ?? ''}`
    const backend = createBackend(url, { timeoutMs: 60_000 })
    onTestFinished(() => backend.close())
    return { name: backend.name, failed: failureOf(backend.capabilities(new AbortController().signal)) }
  }

  describe('when it asks the server what it has', () => {
    const lies = [{ status: 404 }, { status: 200, body: {} }, 'garbage'] as const
    const absences = [
      'drop',
      'drop_mid_reply',
      { status: 307 },
      { status: 429 },
      { status: 500 },
      { status: 503 },
    ] as const

    it.each<[Fault, string]>([
      ...absences.map((fault) => [fault, 'unavailable'] as [Fault, string]),
      ...lies.map((fault) => [fault, 'unusable'] as [Fault, string]),
    ])('and gets %j, calls it %s and asks for no image', async (fault, kind) => {
      const { fail, capabilities, generate, asked } = await driver.given()
      fail('questions', fault)
      expect((await failureOf(capabilities())).kind).toBe(kind)
      expect((await failureOf(generate())).kind).toBe(kind)
      expect(asked()).toEqual([])
    })

    it('and nobody listens, calls it unavailable until somebody does', async () => {
      const { standIn, capabilities, generate } = await driver.given()
      await standIn.refuse()
      expect((await failureOf(capabilities())).kind).toBe('unavailable')
      expect((await failureOf(generate())).kind).toBe('unavailable')
      await standIn.accept()
      expect(await capabilities()).toMatchObject(driver.offers)
      expect(await generate()).toHaveLength(1)
    })

    it('and gets no answer in time, calls it unavailable', async () => {
      const { fail, capabilities } = await driver.given({ timeoutMs: 100 })
      fail('questions', 'hang')
      expect((await failureOf(capabilities())).kind).toBe('unavailable')
    })

    it('stops asking once its caller hangs up', async () => {
      const { backend, standIn, fail } = await driver.given()
      fail('questions', 'hang')
      const { signal, hangUp } = caller()
      const failed = failureOf(backend.capabilities(signal))
      await standIn.seen(() => true)
      hangUp()
      expect((await failed).kind).toBe('canceled')
      await until(() => standIn.connections() === 0, 'no connection')
    })
  })

  it.each([
    ['api user:p@ss/w%rd', `Basic ${Buffer.from('api user:p@ss/w%rd').toString('base64')}`],
    [':sk-key/with%', 'Bearer sk-key/with%'],
  ])('sends the credentials %s of its URL with each request, as %s', async (auth, authorization) => {
    const { standIn, capabilities, generate } = await driver.given({ auth })
    await capabilities()
    expect(await generate()).toHaveLength(1)
    for (const { path, headers } of standIn.journal)
      expect([path, headers.authorization]).toEqual([path, authorization])
  })

  it('fails with auth where the server refuses its credentials, and names them nowhere', async () => {
    const { name, failed } = another(await driver.given({ auth: 'user:right' }), 'someone:s3cret@')
    const error = await failed
    expect(error.kind).toBe('auth')
    const told = [name, error.message, error.publicMessage, error.stack, JSON.stringify(error), String(error.cause)]
    expect(told.join('\n')).not.toMatch(/s3cret|someone|c29tZW9uZ/)
  })

  it('keeps the path that a reverse proxy adds', async () => {
    const given = await driver.given()
    const { name, failed } = another(given, '', '/behind/proxy')
    expect(name).toBe(`${driver.kind}+http://127.0.0.1:${given.standIn.port}/behind/proxy`)
    await failed
    for (const { path } of given.standIn.journal) expect(path).toMatch(/^\/behind\/proxy\/./)
    expect(given.standIn.journal).not.toEqual([])
  })

  const { sizeMultiple = 8, maxSeed = 0 } = driver.offers
  it.each<[what: string, asked: Partial<InferenceRequest>, kind: string, publicMessage: string]>([
    [
      ...(['a sampler', { sampler: driver.lacks ?? 'euler' }, 'unsupported'] as const),
      `The sampler "${driver.lacks}" is not available on the GPU servers.`,
    ],
    [
      ...(['a width', { width: 64 + sizeMultiple / 2 }, 'unsupported'] as const),
      `Only sizes in multiples of ${sizeMultiple} are available on the GPU servers.`,
    ],
    [
      ...(['a height', { height: sizeMultiple / 2 }, 'unsupported'] as const),
      `Only sizes in multiples of ${sizeMultiple} are available on the GPU servers.`,
    ],
    [
      ...(['a seed', { seeds: [maxSeed + 1] }, 'unsupported'] as const),
      `Seeds above ${maxSeed} are not available on the GPU servers.`,
    ],
    [
      ...(['a model', { model: 'notThere.safetensors' }, 'model_missing'] as const),
      'The model is not available on the GPU servers.',
    ],
  ])('refuses %s that the server does not have before it asks for an image', async (_what, request, kind, said) => {
    const { generate, asked } = await driver.given()
    expect(await failureOf(generate(request))).toMatchObject({ kind, publicMessage: said })
    expect(asked()).toEqual([])
  })

  const said = (message: string) => ({ error: { message, type: 'server_error' }, detail: message })
  it.each<[Fault, string]>([
    [{ status: 302 }, 'unavailable'],
    [{ status: 400, body: said('broken') }, 'invalid_request'],
    [{ status: 400, body: said(`invalid prompt "${SECRET}"`) }, 'invalid_request'],
    [{ status: 400, body: said(`rejected: ${SECRET.slice(0, 24)}…`) }, 'invalid_request'],
    [{ status: 422, body: { detail: [{ loc: ['body', 'x'], msg: 'no integer', input: SECRET }] } }, 'invalid_request'],
    [{ status: 413 }, 'invalid_request'],
    [{ status: 401 }, 'auth'],
    [{ status: 403 }, 'auth'],
    [{ status: 404 }, 'unusable'],
    [{ status: 429 }, 'busy'],
    [{ status: 502 }, 'unavailable'],
    [{ status: 503 }, 'unavailable'],
    [{ status: 522 }, 'unavailable'],
    [{ status: 504 }, 'lost'],
    [{ status: 408 }, 'lost'],
    [{ status: 499 }, 'lost'],
    [{ status: 524 }, 'lost'],
    [{ status: 500, body: said('CUDA out of memory. Tried to allocate 2.00 GiB') }, 'oom'],
    [{ status: 500, body: said('CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`') }, 'oom'],
    [{ status: 500, body: said('Could not allocate tensor: not enough GPU video memory available!') }, 'oom'],
    [{ status: 500, body: said(`ValueError: bad token in ${SECRET}`) }, 'backend_fault'],
    [{ status: 500, body: 'Internal Server Error' }, 'backend_fault'],
    [{ status: driver.accepts ?? 200, body: {} }, 'bad_output'],
    ['garbage', driver.answers?.garbage ?? 'bad_output'],
    ['drop', 'lost'],
    ['drop_mid_reply', driver.answers?.drop_mid_reply === null ? 'none' : 'lost'],
  ])('takes the answer %j to a call for images for: %s, and tells nobody the prompt', async (fault, kind) => {
    const { fail, generate } = await driver.given()
    fail('calls', fault)
    const failed = generate({ prompt: SECRET })
    if (kind === 'none') return expect(await failed).toHaveLength(1)
    const error = await failureOf(failed)
    expect(error.kind).toBe(kind)
    expectDiscreet(error, SECRET)
    fail('calls', 'none')
    expect(await generate({ seeds: [7] })).toHaveLength(1)
  })

  it('fails with lost when the server goes away while it draws, then with unavailable, then draws again', async () => {
    const given = await driver.given()
    given.hold(true)
    const failed = failureOf(given.generate())
    await given.begun()
    await given.standIn.refuse()
    expect((await failed).kind).toBe('lost')
    expect((await failureOf(given.generate())).kind).toBe('unavailable')
    given.hold(false)
    await given.standIn.accept()
    expect(await given.generate({ seeds: [7] })).toHaveLength(1)
  })

  it('keeps no connection once it is closed, and makes no call any more', async () => {
    const { standIn, backend, generate, capabilities } = await driver.given()
    await generate()
    await backend.close()
    await until(() => standIn.connections() === 0, 'no connection')
    const before = standIn.journal.length
    await failureOf(capabilities())
    expect(standIn.journal).toHaveLength(before)
  })

  describe.runIf(driver.queues)('when other clients use the server, too', () => {
    it('tells how many jobs come first, and when its turn has come', async () => {
      const given = await driver.given()
      given.hold(true)
      await given.giveOther?.()
      const told: number[] = []
      const images = given.generate({}, { onWaiting: (before) => told.push(before) })
      await until(() => told.length > 0, 'its waiting')
      await given.stopRunning?.()
      await until(() => told.includes(0), 'its turn')
      given.hold(false)
      expect(await images).toHaveLength(1)
      expect([...new Set(told)]).toEqual([1, 0])
    })

    it('fails with busy when its turn does not come in time, and takes its job back', async () => {
      const given = await driver.given({ queueMs: 100 })
      given.hold(true)
      await given.giveOther?.()
      expect((await failureOf(given.generate())).kind).toBe('busy')
      // An interrupt of A1111's knows no jobs.
      expect(given.jobs()).toBe(driver.queues === 'of all' ? 1 : 0)
    })

    it('fails with backend_fault when another client has stopped its job', async () => {
      const given = await driver.given()
      given.hold(true)
      const failed = failureOf(given.generate())
      await given.begun()
      await given.stopRunning?.()
      expect((await failed).kind).toBe('backend_fault')
    })
  })
})
