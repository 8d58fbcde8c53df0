/** What the tests of all backends share. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import {
  BackendError,
  type InferenceBackend,
  type InferenceOptions,
  type InferenceRequest,
} from '../../src/core/generations/run/backend.js'

export const PONY = 'ponyDiffusionV6XL.safetensors'
export const SDXL = 'sd_xl_base_1.0.safetensors'

export const aRequest = (asked: Partial<InferenceRequest> = {}): InferenceRequest => ({
  attemptId: randomUUID(),
  attempt: 'gen_test-1',
  model: PONY,
  prompt: 'a lighthouse at dusk',
  negativePrompt: 'blurry',
  width: 64,
  height: 64,
  steps: 20,
  cfgScale: 6.5,
  sampler: 'euler_a',
  seeds: [42],
  ...asked,
})

/** A backend on a stand-in, both closed when the test ends. */
export function attached<StandIn extends { readonly close: () => Promise<void> }>(
  standIn: StandIn,
  backend: InferenceBackend,
) {
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

/** The BackendError that the work fails with. */
export async function failureOf(work: Promise<unknown>): Promise<BackendError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BackendError)
  return error as BackendError
}

/** The subscriber reads one sentence without a host; neither the subscriber nor the log reads the prompt. */
export function expectDiscreet(error: BackendError, prompt: string): void {
  expect(error.publicMessage).toMatch(/^[A-Z][^.]*\.$/)
  expect(error.publicMessage).not.toMatch(/127\.0\.0\.1|http|Exception|safetensors|ckpt|value_/)
  expect(`${error.message} ${error.cause}`).not.toContain(prompt.slice(0, 15))
}
