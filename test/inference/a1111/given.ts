import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { BackendError, type InferenceOptions, type InferenceRequest } from '../../../src/generation/run/backend.js'
import { type A1111Options, createA1111Backend } from '../../../src/inference/a1111/a1111-backend.js'
import { type StandInOptions, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'

export const PONY = 'ponyDiffusionV6XL.safetensors'
export const SDXL = 'sd_xl_base_1.0.safetensors'

/** A stand-in and a backend on it, both closed when the test ends. */
export async function givenBackend(standInOptions: StandInOptions = {}, options: Partial<A1111Options> = {}) {
  const standIn = await startA1111StandIn(standInOptions)
  const backend = createA1111Backend(standIn.inferenceUrl, {
    timeoutMs: 5_000,
    progressIntervalMs: 10,
    cancelGraceMs: 500,
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
  }
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
