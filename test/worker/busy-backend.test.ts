import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../src/core/catalog/model-version.js'
import { drawImage } from '../stand-ins/a1111/images.js'
import { givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { startLoops } from '../support/gpu-loops.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

const [FIRST, SECOND] = SEED_MODELS.map(({ filename }) => filename) as [string, string]

/** A server with OpenAI's image API: what it lists, and how each of its answers comes, is the test's to say. */
interface HoldableServer {
  readonly inferenceUrl: string
  readonly models: Set<string>
  /** Answers the nth call for an image, from 0; by default at once. */
  answer: (n: number, response: ServerResponse, body: Buffer) => Promise<unknown>
  readonly drawn: () => number
  readonly close: () => Promise<void>
}

async function startHoldableServer(): Promise<HoldableServer> {
  const png = await drawImage({ width: 64, height: 64, key: 'busy', parameters: '', look: 'finished' })
  const image = Buffer.from(JSON.stringify({ data: [{ b64_json: png.toString('base64') }] }))
  let calls = 0
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') return response.end(JSON.stringify({ data: [...its.models].map((id) => ({ id })) }))
    void its.answer(calls++, response, image)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const its: HoldableServer = {
    inferenceUrl: `openai+http://127.0.0.1:${(server.address() as AddressInfo).port}?sampler=euler_a`,
    models: new Set([FIRST]),
    answer: async (_n, response, body) => response.end(body),
    drawn: () => calls,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return its
}

let service: Service
let gpu: HoldableServer
let loops: { close(): Promise<void> } | undefined

beforeEach(async () => {
  ;[service, gpu] = await Promise.all([startService(), startHoldableServer()])
})
afterEach(async () => {
  await loops?.close()
  await gpu?.close()
  await service?.close()
})

async function givenQueued(filename: string) {
  const model = SEED_MODELS.find((version) => version.filename === filename)
  if (!model) throw new Error(`no model version has ${filename}`)
  const small = { model, width: 64, height: 64, steps: 2, sampler: 'euler_a' } as const
  return givenGeneration(service.db, await givenUser(service.db), small)
}

const statusOf = async (generation: { id: string }): Promise<string> =>
  (await rowOf(service.db, generation)).status as string

describe('a backend whose next inference has begun', () => {
  it('draws it to the end although the answer to the last one broke off', async () => {
    const generations = [await givenQueued(FIRST), await givenQueued(FIRST), await givenQueued(FIRST)]
    const [first] = generations
    gpu.answer = async (n, response, body) => {
      if (n > 1) return response.end(body)
      if (n === 1) {
        const isPutBack = async () => (await rowOf(service.db, first as { id: string })).attempt > 1
        await until(isPutBack, 'the first generation being put back')
        return response.end(body)
      }
      response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, 10))
      await until(() => gpu.drawn() > 1, 'the second inference')
      return response.destroy()
    }
    loops = await startLoops(service, { inferenceUrls: [gpu.inferenceUrl], times: QUICK })
    for (const generation of generations)
      await until(async () => (await statusOf(generation)) === 'succeeded', 'all to be delivered')
  })

  it('serves a model that its server has got meanwhile', async () => {
    let release: (() => void) | undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    gpu.answer = (_n, response, body) => held.then(() => response.end(body))
    const ofNewModel = await givenQueued(SECOND)
    const others = [
      await givenQueued(FIRST),
      await givenQueued(FIRST),
      await givenQueued(FIRST),
      await givenQueued(FIRST),
    ]
    loops = await startLoops(service, { inferenceUrls: [gpu.inferenceUrl], times: QUICK })
    await until(() => gpu.drawn() > 0, 'the first inference')
    gpu.models.add(SECOND)
    await until(async () => {
      const { rows } = await service.db.pool.query('SELECT models FROM backends')
      return rows[0]?.models.includes(SECOND)
    }, 'the new model being announced')
    release?.()
    const all = [ofNewModel, ...others]
    for (const generation of all)
      await until(async () => (await statusOf(generation)) === 'succeeded', 'all to be delivered')
    const startOf = async (generation: { id: string }) => (await rowOf(service.db, generation)).started_at
    expect((await startOf(ofNewModel)) < (await startOf(others.at(-1) as { id: string }))).toBe(true)
  })
})
