import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { BackendError, type InferenceOptions, type InferenceRequest } from '../../../src/generation/run/backend.js'
import { type ComfyuiOptions, createComfyuiBackend } from '../../../src/inference/comfyui/comfyui-backend.js'
import { createServerHttp, parseServerUrl } from '../../../src/inference/server-http.js'
import { type StandInOptions, startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'

export const PONY = 'ponyDiffusionV6XL.safetensors'
export const SDXL = 'sd_xl_base_1.0.safetensors'

/** A stand-in and a backend on it, both closed when the test ends. */
export async function givenBackend(standInOptions: StandInOptions = {}, options: Partial<ComfyuiOptions> = {}) {
  const standIn = await startComfyuiStandIn(standInOptions)
  const backend = createComfyuiBackend(standIn.inferenceUrl, {
    timeoutMs: 10_000,
    pollIntervalMs: 20,
    cancelGraceMs: 1_000,
    patience: { answerMs: 10_000, awayMs: 100, silentMs: 10_000 },
    ...options,
  })
  onTestFinished(async () => {
    await backend.close()
    await standIn.close()
  })
  return {
    standIn,
    backend,
    generate: (asked: Partial<InferenceRequest> = {}, how: Partial<InferenceOptions> = {}) =>
      backend.generate(aRequest(asked), { signal: new AbortController().signal, ...how }),
    capabilities: () => backend.capabilities(new AbortController().signal),
    /** The ids that run and that wait. */
    queue: async (): Promise<string[]> => {
      const queue = (await (await fetch(`${standIn.url}/queue`)).json()) as Record<string, [number, string][]>
      return [...(queue.queue_running ?? []), ...(queue.queue_pending ?? [])].map(([, id]) => id)
    },
  }
}

/** What the backend speaks through, closed when the test ends. */
export function givenHttp(url: string) {
  const http = createServerHttp(parseServerUrl(url), { keepAlive: true })
  onTestFinished(() => http.close())
  return http
}

export const aRequest = (asked: Partial<InferenceRequest> = {}): InferenceRequest => ({
  attemptId: randomUUID(),
  attempt: 'gen_test-1',
  model: PONY,
  prompt: 'a lighthouse at dusk',
  negativePrompt: 'blurry',
  width: 64,
  height: 128,
  steps: 20,
  cfgScale: 6.5,
  sampler: 'euler_a',
  seeds: [42],
  ...asked,
})

/** The BackendError that the work fails with. */
export async function failureOf(work: Promise<unknown>): Promise<BackendError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BackendError)
  return error as BackendError
}
