import { Registry } from 'prom-client'
import { afterEach, expect, it, vi } from 'vitest'
import type { InferenceBackend } from '../../../src/core/generations/run/backend.js'
import { endMetrics, runMetrics } from '../../../src/telemetry/metrics/generation-metrics.js'
import { meters } from '../../../src/telemetry/metrics/meters.js'
import { aRequest } from '../../inference/given.js'

afterEach(() => void vi.useRealTimers())

it('counts as drawn from when an inference has its turn, not while it waits behind another', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const registry = new Registry()
  const meter = meters(registry)
  const turns: (() => void)[] = []
  const answers: (() => void)[] = []
  const queues: InferenceBackend = {
    name: 'fake',
    capabilities: async () => ({ models: null, samplers: [], maxSeed: 0, sizeMultiple: 8 }),
    generate: (_request, { onWaiting, onDrawn }) => {
      turns.push(() => onWaiting?.(0))
      return new Promise((resolve) =>
        answers.push(() => {
          onDrawn?.()
          resolve([])
        }),
      )
    },
    close: async () => undefined,
  }
  const { generate } = runMetrics(meter, endMetrics(meter)).backend(queues)
  const { signal } = new AbortController()
  const first = generate(aRequest(), { signal })
  const second = generate(aRequest(), { signal, after: first.then(() => undefined) })
  vi.advanceTimersByTime(3000)
  answers[0]?.()
  await first
  turns[1]?.()
  vi.advanceTimersByTime(5000)
  answers[1]?.()
  await second
  const text = await registry.metrics()
  expect(text).toContain('easel_backend_busy_seconds_total{backend="fake"} 8\n')
  expect(text).toMatch(/easel_run_duration_seconds_sum\{.*\} 8\n/)
  expect(text).toMatch(/easel_run_duration_seconds_count\{.*\} 2\n/)
})
