import { expect, it, onTestFinished, vi } from 'vitest'
import { generationQueue, startGenerationWorker } from '../../src/queue/generation-jobs.js'
import { openTracing } from '../../src/tracing/open-tracing.js'
import { givenCollector } from '../support/otlp-collector.js'
import { freePort } from '../support/server-process.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'

const CANARY = 'quokkaverb'

it('no span of BullMQ holds the error that a job fails with', async () => {
  const port = await freePort()
  const collector = await givenCollector(port)
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const tracing = openTracing('worker', { info: () => undefined, warn: () => undefined, error: () => undefined })
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
  expect(collector.spans.map(({ name }) => name)).toContain('process generations')
  expect(collector.bodies.filter((text) => text.includes(CANARY))).toEqual([])
})
