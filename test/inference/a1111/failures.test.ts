import { describe, expect, it } from 'vitest'
import { aRequest, failureOf, givenBackend, PONY } from './given.js'

const interrupts = (standIn: { journal: readonly { path: string }[] }) =>
  standIn.journal.filter(({ path }) => path === '/sdapi/v1/interrupt').length
const isTxt2img = ({ path }: { path: string }) => path === '/sdapi/v1/txt2img'

describe('an answer to txt2img means', () => {
  const exception = (error: string, errors: string) => ({ error, detail: '', body: '', errors })

  it.each([
    [{ status: 429 }, 'busy'],
    [{ status: 502 }, 'unavailable'],
    [{ status: 503 }, 'unavailable'],
    [{ status: 504 }, 'unavailable'],
    [{ status: 302 }, 'unavailable'],
    [{ status: 404, body: { detail: 'Not Found' } }, 'unusable'],
    [{ status: 400 }, 'invalid_request'],
    [
      { status: 422, body: { detail: [{ loc: ['body', 'width'], msg: 'not an integer', input: 'a secret prompt' }] } },
      'invalid_request',
    ],
    [{ status: 422, body: { detail: 'cannot parse "a secret prompt"' } }, 'invalid_request'],
    [{ status: 500, body: exception('ValueError', 'bad token in a secret prompt of so') }, 'backend_fault'],
    [
      { status: 500, body: { error: 'server_error', message: '[json.exception.type_error.302] type must be number' } },
      'invalid_request',
    ],
    [{ status: 404, body: { error: 'HTTPException', detail: 'Sampler not found' } }, 'unsupported'],
    [{ status: 400, body: { detail: 'Sampler not found' } }, 'unsupported'],
    [{ status: 404, body: { error: 'HTTPException', detail: 'Model not found' } }, 'model_missing'],
    [{ status: 500, body: exception('RuntimeError', "model 'x.safetensors' not found") }, 'model_missing'],
    [{ status: 500, body: exception('OutOfMemoryError', 'CUDA out of memory. Tried to allocate 2.00 GiB') }, 'oom'],
    [{ status: 500, body: exception('RuntimeError', 'MPS backend out of memory') }, 'oom'],
    [
      { status: 500, body: exception('NansException', 'A tensor with all NaNs was produced in Unet.') },
      'backend_fault',
    ],
    [{ status: 500, body: { error: 'generate_image returned no results' } }, 'backend_fault'],
    [{ status: 500, body: 'Internal Server Error' }, 'backend_fault'],
    ['out_of_memory', 'oom'],
    ['garbage', 'bad_output'],
    [{ status: 200, body: { images: 'none', info: 1 } }, 'bad_output'],
    [{ status: 200, body: { images: [], info: '' } }, 'bad_output'],
    ['drop', 'lost'],
    ['drop_mid_reply', 'lost'],
  ] as const)('%j: %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    const error = await failureOf(generate({ prompt: 'a secret prompt' }))
    expect(error.kind).toBe(kind)
    expect(error.publicMessage).toMatch(/^[A-Z][^.]*\.$/)
    expect(error.publicMessage).not.toMatch(/127\.0\.0\.1|http|Exception|safetensors/)
    expect(`${error.message} ${error.cause}`).not.toContain('a secret prompt')
  })

  it('the sampler was refused: the user reads which', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 400, body: { detail: 'Sampler not found' } } })
    expect((await failureOf(generate({ sampler: 'unipc' }))).publicMessage).toBe(
      'The sampler "unipc" is not available on the GPU servers.',
    )
  })

  it('a server that vanishes in the middle is lost, then unreachable', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 })
    const failed = failureOf(generate())
    await standIn.seen(isTxt2img)
    await standIn.refuse()
    expect((await failed).kind).toBe('lost')
    expect((await failureOf(generate())).kind).toBe('unavailable')
  })
})

describe('a 200 is not believed when', () => {
  it.each([
    ['wrong_size', 'bad_output'],
    ['wrong_count', 'bad_output'],
    ['wrong_seeds', 'bad_output'],
    ['default_sampler', 'bad_output'],
    ['broken_image', 'bad_output'],
    ['wrong_model', 'model_missing'],
  ] as const)('it hides %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    expect((await failureOf(generate({ seeds: [1, 2], sampler: 'heun' }))).kind).toBe(kind)
    standIn.set({ fault: 'none' })
    expect(await generate({ seeds: [1, 2], sampler: 'heun' })).toHaveLength(2)
  })

  it.each(['legacy', 'sdnext'] as const)('%s draws with another sampler or checkpoint', async (dialect) => {
    const { standIn, generate } = await givenBackend({ dialect })
    const asked = { width: 64, height: 64, sampler: 'heun' } as const
    standIn.set({ fault: 'default_sampler' })
    expect((await failureOf(generate(asked))).kind).toBe('bad_output')
    standIn.set({ fault: 'wrong_model' })
    expect((await failureOf(generate(asked))).kind).toBe('model_missing')
  })

  it('someone else interrupted the job', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 })
    const failed = failureOf(generate())
    await standIn.seen(isTxt2img)
    await standIn.seen(({ path }) => path.startsWith('/sdapi/v1/progress'))
    await fetch(`${standIn.url}/sdapi/v1/interrupt`, { method: 'POST' })
    expect(await failed).toMatchObject({ kind: 'backend_fault' })
  })
})

it('takes the batch out of a reply with a grid before and extras after it', async () => {
  const { standIn, generate } = await givenBackend()
  const plain = await generate({ seeds: [1, 2] })
  standIn.set({ fault: 'grid_and_extra' })
  expect(await generate({ seeds: [1, 2] })).toEqual(plain)
})

it('takes images as data URLs too', async () => {
  const { standIn, generate } = await givenBackend()
  const plain = await generate()
  standIn.set({ fault: 'data_urls' })
  expect(await generate()).toEqual(plain)
})

describe('an abort', () => {
  it('interrupts the server, waits until it has stopped, and says canceled', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(({ path }) => path.startsWith('/sdapi/v1/progress') && standIn.asked().length > 0)
    controller.abort()
    expect(await failed).toMatchObject({ kind: 'canceled', publicMessage: 'The generation was canceled.' })
    expect(interrupts(standIn)).toBe(1)
    standIn.set({ latencyMs: 0 })
    expect(await generate()).toHaveLength(1)
  })

  it('gives a server that ignores the interrupt only its grace', async () => {
    const { standIn, generate } = await givenBackend({}, { cancelGraceMs: 100 })
    standIn.set({ fault: 'hang' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isTxt2img)
    const abortedAt = performance.now()
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(performance.now() - abortedAt).toBeLessThan(1_000)
  })

  it('that came before the call asks nothing of the server', async () => {
    const { standIn, generate } = await givenBackend()
    expect((await failureOf(generate({}, { signal: AbortSignal.abort() }))).kind).toBe('canceled')
    expect(standIn.journal).toEqual([])
  })

  it('between the two calls of a wrapping batch stops before the second', async () => {
    const { standIn, generate } = await givenBackend()
    const controller = new AbortController()
    const work = generate(
      { seeds: [4294967295, 0] },
      { signal: controller.signal, onProgress: (done) => done >= 0.5 && controller.abort() },
    )
    expect((await failureOf(work)).kind).toBe('canceled')
    expect(standIn.asked()).toHaveLength(1)
  })
})

it('interrupts and gives up an inference that takes too long', async () => {
  const { standIn, generate } = await givenBackend({ latencyMs: 10_000 }, { timeoutMs: 400 })
  expect(await failureOf(generate())).toMatchObject({
    kind: 'timeout',
    publicMessage: 'The generation took too long and was stopped.',
  })
  expect(interrupts(standIn)).toBe(1)
})

it('tells that it waits behind what a dead worker left, counts that apart, and says busy when it is too long', async () => {
  const { standIn, generate } = await givenBackend({ latencyMs: 60_000 }, { timeoutMs: 1_500 })
  const body = JSON.stringify({ prompt: 'left', steps: 20, force_task_id: 'of-another' })
  void fetch(`${standIn.url}/sdapi/v1/txt2img`, { method: 'POST', body }).catch(() => undefined)
  await standIn.seen(isTxt2img)
  const waits: number[] = []
  expect((await failureOf(generate({}, { onWaiting: (before) => waits.push(before) }))).kind).toBe('busy')
  expect(waits).toContain(1)
})

it('gives up a hanging server at the time limit', async () => {
  const { standIn, generate } = await givenBackend({}, { timeoutMs: 150, cancelGraceMs: 50 })
  standIn.set({ fault: 'hang' })
  expect((await failureOf(generate())).kind).toBe('timeout')
})

describe('progress', () => {
  it('rises from the server’s own reports to 1', async () => {
    const { generate } = await givenBackend({ latencyMs: 250 })
    const progress: number[] = []
    await generate({}, { onProgress: (done) => progress.push(done) })
    expect(progress.length).toBeGreaterThan(1)
    expect(progress).toEqual([...new Set(progress)].sort((a, b) => a - b))
    expect(progress.at(0)).toBeLessThan(1)
    expect(progress.at(-1)).toBe(1)
  })

  it('comes with what is drawn so far, which is asked for once a second at most', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 1500 })
    standIn.set({ currentImage: Buffer.from('half an image').toString('base64') })
    const shown: string[] = []
    await generate({}, { onPreview: (image) => shown.push(image.toString()) })
    expect(shown).toEqual(['half an image'])
    expect(standIn.journal.filter(({ path }) => path.includes('skip_current_image=true')).length).toBeGreaterThan(20)
  })

  it('fails no inference, whether the server or the listener breaks', async () => {
    const { standIn, backend, capabilities } = await givenBackend({ latencyMs: 100 })
    await capabilities()
    const work = backend.generate(aRequest(), {
      signal: new AbortController().signal,
      onProgress: () => {
        throw new Error('listener')
      },
    })
    await standIn.seen(isTxt2img)
    standIn.set({ fault: { status: 500 }, scope: 'all' })
    expect(await work).toHaveLength(1)
  })
})

it('sends one inference after another, never two at once', async () => {
  const { standIn, generate } = await givenBackend({ latencyMs: 20 })
  const images = await Promise.all([
    generate({ seeds: [1] }),
    generate({ seeds: [2] }),
    generate({ seeds: [3], model: PONY }),
  ])
  expect(images.flat().map(({ seed }) => seed)).toEqual([1, 2, 3])
  expect(standIn.mostAtOnce()).toBe(1)
})
