import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createEasel, type EaselError, type Progress } from '../../src/client/easel-client.js'
import { newGenerationId } from '../../src/core/generations/generation.js'
import { idempotencyStore } from '../../src/db/generations/submit/idempotency.js'
import { generateBody } from '../../src/http/personal-api/generations/submit-schemas.js'
import { idempotencyOf } from '../../src/http/shared/idempotency-key.js'
import { chargesOf, type GivenUser, givenGeneration, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const worker = () => standInWorker(context.service.db)

const PROMPT = { prompt: 'a lighthouse at dusk', model_version_id: 10, width: 256, height: 256 }

type Fetch = (request: Request) => Promise<Response>
const clientOf = (
  { key }: GivenUser,
  through: (request: Request, send: Fetch) => Promise<Response> = (r, send) => send(r),
) => createEasel({ baseUrl: `${context.service.url}/`, apiKey: key, fetch: (request) => through(request, fetch) })
const user = () => givenUser(context.service.db)
const isSubmit = ({ method, url }: Request) => method === 'POST' && url.endsWith('/generate')
const isEvents = ({ url }: Request) => url.endsWith('/events')
const refusedWith = async (work: Promise<unknown>): Promise<EaselError> => {
  const error = await work.then(() => expect.fail('it was not refused')).catch((reason) => reason)
  expect(error).toMatchObject({ name: 'EaselError' })
  return error
}
/** Works off whatever comes, one after the other. */
async function workOff(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await worker().succeed(await worker().claim())
}

/** A server whose rate limit lasts ten minutes; one refusal says that it lasts a second, and then another server answers. */
async function givenLimit() {
  const max = 3
  const { url } = await context.service.server({}, { RATE_LIMIT_MAX: `${max}`, RATE_LIMIT_WINDOW_SECONDS: '600' })
  let refused = false
  return {
    async reach({ key }: GivenUser) {
      const headers = { authorization: `Bearer ${key}` }
      const answers = await Promise.all(Array.from({ length: max }, () => fetch(`${url}/api/v1/account`, { headers })))
      for (const answer of answers) await answer.text()
    },
    async send(request: Request): Promise<Response> {
      if (refused) return fetch(request)
      const answer = await fetch(new Request(request.url.replace(context.service.url, url), request))
      refused = answer.status === 429
      if (!refused) return answer
      const headers = new Headers(answer.headers)
      headers.set('retry-after', '1')
      return new Response(await answer.text(), { status: 429, headers })
    },
  }
}

const GIVEN_BACK = [
  ['charge', -1],
  ['refund', 1],
]

describe('generate', () => {
  it('resolves to the images, each with its seed, and tells how it goes', async () => {
    const owner = await user()
    const seen: Progress[] = []
    const generating = clientOf(owner).generate(
      { ...PROMPT, batch_size: 2, seed: 4294967295 },
      {
        onProgress: (progress) => seen.push(progress),
      },
    )
    await until(() => seen.some(({ queuePosition }) => queuePosition !== undefined), 'its place')
    const claimed = await worker().claim()
    await until(() => seen.at(-1)?.status === 'processing', 'its start')
    await worker().succeed(claimed)
    const generated = await generating
    expect(generated).toEqual({
      id: claimed.id,
      images: claimed.slugs.map((id, n) => ({
        id,
        url: `http://easel.test/cdn/${id}.png`,
        seed: n === 0 ? 4294967295 : 0,
      })),
      seed: 4294967295,
      creditsCharged: 2,
      creditsRemaining: 98,
    })
  })

  it('is charged once, although the answer to its submit is lost and its events are cut', async () => {
    const owner = await user()
    const lost: string[] = []
    const client = clientOf(owner, async (request, send) => {
      const answer = await send(request)
      const what = isSubmit(request) ? 'submit' : 'events'
      const times = what === 'submit' ? 3 : 1
      if ((what === 'submit' || isEvents(request)) && lost.filter((it) => it === what).length < times) {
        lost.push(what)
        await answer.body?.cancel()
        throw new TypeError('fetch failed')
      }
      if (isEvents(request)) lost.push(`events ${answer.status}`)
      return answer
    })
    const generating = client.generate(PROMPT, { onProgress: () => undefined })
    // It is worked on once its events have come back.
    await until(() => lost.includes('events 200'), 'the events')
    const [generated] = await Promise.all([generating, workOff(1)])
    expect(generated.images).toHaveLength(1)
    expect(lost).toEqual(['submit', 'submit', 'submit', 'events', 'events 200'])
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('ends in success without waiting for a turn: it waits for a submit that is in flight', async () => {
    const owner = await user()
    const store = idempotencyStore(context.service.db)
    const [idempotencyKey, firstId] = ['a key', newGenerationId()]
    const body = generateBody.parse(PROMPT)
    const { bodyHash } = idempotencyOf({ body, headers: { 'idempotency-key': idempotencyKey } }, 'personal') ?? {}
    const codes: (string | null)[] = []
    const client = clientOf(owner, async (request, send) => {
      if (!isSubmit(request)) return send(request)
      // As if it had arrived and were still with moderation.
      if (codes.push(null) === 1) {
        await store.reserve(owner.id, idempotencyKey, bodyHash as Buffer, firstId)
        throw new TypeError('fetch failed')
      }
      const answer = await send(request)
      codes[codes.length - 1] = answer.headers.get('x-error-code')
      await store.release(owner.id, idempotencyKey, firstId)
      return answer
    })
    const generating = client.generate(PROMPT, { waitForTurn: false, idempotencyKey })
    const [generated] = await Promise.all([generating, workOff(1)])
    expect(generated.images).toHaveLength(1)
    expect(codes).toEqual([null, 'idempotency_in_flight', null])
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('ends in success without waiting for a turn: it comes back from a rate limit for a lost answer', async () => {
    const owner = await user()
    const limited = await givenLimit()
    const codes: (string | null)[] = []
    const client = clientOf(owner, async (request, send) => {
      if (!isSubmit(request)) return send(request)
      const answer = await limited.send(request)
      codes.push(answer.headers.get('x-error-code'))
      if (codes.length > 1) return answer
      await limited.reach(owner)
      throw new TypeError('fetch failed')
    })
    const generating = client.generate(PROMPT, { waitForTurn: false })
    const [generated] = await Promise.all([generating, workOff(1)])
    expect(generated.images).toHaveLength(1)
    expect(codes).toEqual([null, 'rate_limited', null])
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('waits where the rate limit is reached, and goes on when the server says so', async () => {
    const owner = await user()
    const limited = await givenLimit()
    await limited.reach(owner)
    const statuses: number[] = []
    const client = clientOf(owner, async (request, send) => {
      if (!isSubmit(request)) return send(request)
      const answer = await limited.send(request)
      statuses.push(answer.status)
      return answer
    })
    const [generated] = await Promise.all([client.generate(PROMPT), workOff(1)])
    expect(generated.images).toHaveLength(1)
    expect(statuses).toEqual([429, 201])
  })

  it('waits for its turn while another generation is active, or says at once which one it is', async () => {
    const owner = await user()
    const active = await givenGeneration(context.service.db, owner)
    const error = await refusedWith(clientOf(owner).generate(PROMPT, { waitForTurn: false }))
    expect(error).toMatchObject({ code: 'active_generation', status: 429, generationId: active.id })
    const [generated] = await Promise.all([clientOf(owner).generate(PROMPT), workOff(2)])
    expect(generated.id).not.toBe(active.id)
  })

  it('is canceled and its credit given back when it is aborted, unless it is to be kept', async () => {
    const [one, two] = [await user(), await user()]
    const abort = async (owner: GivenUser, keepOnAbort: boolean) => {
      const stop = new AbortController()
      const generating = clientOf(owner).generate(PROMPT, {
        signal: stop.signal,
        keepOnAbort,
        onProgress: () => stop.abort(new Error('enough')),
      })
      await expect(generating).rejects.toThrow('enough')
    }
    await abort(one, false)
    expect(await chargesOf(context.service.db, one)).toEqual(GIVEN_BACK)
    await abort(two, true)
    expect(await chargesOf(context.service.db, two)).toEqual([['charge', -1]])
    await workOff(1)
  })

  it('is canceled when it is aborted before the answer to its submit has come', async () => {
    const owner = await user()
    const stop = new AbortController()
    const client = clientOf(owner, async (request, send) => {
      const answer = await send(request)
      if (isSubmit(request)) stop.abort(new Error('enough'))
      return answer
    })
    await expect(client.generate(PROMPT, { signal: stop.signal })).rejects.toThrow('enough')
    expect(await chargesOf(context.service.db, owner)).toEqual(GIVEN_BACK)
  })

  it('is canceled when it is aborted between two tries, of which the first may have succeeded', async () => {
    const abort = async (owner: GivenUser, keepOnAbort: boolean) => {
      const stop = new AbortController()
      let submits = 0
      const client = clientOf(owner, async (request, send) => {
        const answer = await send(request)
        if (!isSubmit(request) || ++submits > 1) return answer
        setImmediate(() => stop.abort(new Error('enough')))
        throw new TypeError('fetch failed')
      })
      await expect(client.generate(PROMPT, { signal: stop.signal, keepOnAbort })).rejects.toThrow('enough')
      expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    }
    const [one, two] = [await user(), await user()]
    await abort(one, false)
    expect(await chargesOf(context.service.db, one)).toEqual(GIVEN_BACK)
    await abort(two, true)
    expect(await chargesOf(context.service.db, two)).toEqual([['charge', -1]])
    await workOff(1)
  })

  it('ends with the error of a progress callback', async () => {
    const generating = clientOf(await user()).generate(PROMPT, {
      onProgress: () => {
        throw new Error('a fault of the caller')
      },
    })
    await expect(generating).rejects.toThrow('a fault of the caller')
    await workOff(1)
  })

  it('says why a generation failed', async () => {
    const failing = refusedWith(clientOf(await user()).generate(PROMPT))
    const claimed = await worker().claim()
    await worker().fail(claimed, 'The GPU ran out of memory; try a smaller size or fewer images.')
    expect(await failing).toMatchObject({
      code: 'generation_failed',
      message: 'The GPU ran out of memory; try a smaller size or fewer images.',
      generationId: claimed.id,
    })
  })

  it('does not repeat what would be refused again', async () => {
    let submits = 0
    const client = clientOf(await user(), (request, send) => {
      if (isSubmit(request)) submits++
      return send(request)
    })
    const error = await refusedWith(client.generate({ ...PROMPT, steps: 0 }))
    expect(error).toMatchObject({
      code: 'invalid_request',
      status: 400,
      message: 'steps must be an integer from 1 to 100.',
    })
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect(submits).toBe(1)
  })

  it('gives up a server that stays unreachable', async () => {
    const client = createEasel({ baseUrl: 'http://127.0.0.1:9', apiKey: 'easel_x' })
    const error = await refusedWith(client.generate(PROMPT, { outageMs: 300, idempotencyKey: 'mine' }))
    expect(error).toMatchObject({ code: 'unreachable', status: undefined, idempotencyKey: 'mine' })
  })
})

it('the client refuses at once an address, an API key and an Idempotency-Key that no request could be made with', async () => {
  expect(() => createEasel({ baseUrl: 'localhost:3000', apiKey: 'easel_x' })).toThrow('http://')
  for (const apiKey of ['', 'two words', undefined as unknown as string]) {
    expect(() => createEasel({ baseUrl: 'http://easel.test', apiKey })).toThrow('apiKey must be')
  }
  const error = await refusedWith(clientOf(await user()).generate(PROMPT, { idempotencyKey: 'order – 5' }))
  expect(error).toMatchObject({ code: 'invalid_request', status: undefined })
})

it('the typed client reaches every endpoint', async () => {
  const owner = await user()
  const { data } = await clientOf(owner).api.GET('/api/v1/account')
  expect(data?.username).toBe(owner.username)
})
