import { expect, it } from 'vitest'
import { BackendError } from '../../../src/core/generations/run/backend.js'
import { generationQueue, startGenerationWorker } from '../../../src/queue/queues.js'
import { openTracing } from '../../../src/telemetry/tracing/open-tracing.js'
import { aRequest } from '../../inference/given.js'
import { buildBareApp } from '../../support/bare-app.js'
import { freePort } from '../../support/free-port.js'
import { givenCollector } from '../../support/otlp-collector.js'
import { createTestDatabase } from '../../support/services.js'
import { until } from '../../support/until.js'

const CANARY = 'quokkaverb'

// One test, because a process can open its traces only once.
it('the span of a request is an error if it was answered with a 5xx, that of a drawing if it failed, and no span of BullMQ holds the error that a job fails with', async () => {
  const port = await freePort()
  const collector = await givenCollector(port)
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const tracing = openTracing('worker', `http://127.0.0.1:${port}/v1/traces`, log)

  const app = await buildBareApp({
    observe: (bare) => {
      tracing.requests(bare)
      for (const status of [200, 404, 500, 503]) bare.get(`/${status}`, (_request, reply) => reply.code(status).send())
    },
  })
  const url = await app.listen({ port: 0 })
  for (const status of [200, 404, 500, 503]) await fetch(`${url}/${status}`)
  await app.close()

  const backend = tracing.backend({
    name: 'fake:',
    capabilities: async () => ({ models: null, samplers: [], maxSeed: 0, sizeMultiple: 8 }),
    generate: async () => {
      throw new BackendError('oom', CANARY, 'The GPU ran out of memory.')
    },
    close: async () => undefined,
  })
  const { signal } = new AbortController()
  await expect(backend.generate(aRequest(), { signal })).rejects.toThrow(CANARY)

  const connection = { kind: 'postgres', url: (await createTestDatabase()).url, prefix: 'traced' } as const
  const queue = generationQueue(connection, () => undefined, tracing.telemetry)
  let failed = false
  const jobs = startGenerationWorker({
    ...{ connection, concurrency: 1, telemetry: tracing.telemetry },
    onJob: async () => {
      throw new Error(CANARY)
    },
    onError: () => {
      failed = true
    },
  })
  await queue.enqueue([{ id: 'gen_a', attempt: 1 }])
  await until(() => failed, 'the failure')
  await jobs.close(1000)
  await queue.close()
  await tracing.stop()

  const errors = collector.spans.filter(({ name, status }) => name.startsWith('GET /') && status.code === 2)
  expect(errors.map(({ name }) => name).sort()).toEqual(['GET /500', 'GET /503'])
  expect(collector.spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['GET /200', 'GET /404', 'process generations']),
  )
  expect(collector.spans.find(({ name }) => name === 'draw')).toMatchObject({
    status: { code: 2 },
    attributes: { 'error.type': 'oom' },
  })
  expect(collector.bodies.filter((text) => text.includes(CANARY))).toEqual([])
})
