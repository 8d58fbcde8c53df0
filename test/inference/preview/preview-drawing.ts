import { expect } from 'vitest'
import type { InferenceRequest } from '../../../src/core/generations/run/backend.js'
import { createPreviewBackend } from '../../../src/inference/preview/preview-backend.js'

export const backend = createPreviewBackend()
export const { signal } = new AbortController()

export const request: InferenceRequest = {
  attemptId: '2f5a0f4e-6f5b-4d1c-9b0a-8b1f6a3f2c11',
  attempt: 'gen_test-1',
  model: 'ponyDiffusionV6XL.safetensors',
  prompt: 'a lighthouse at dusk',
  negativePrompt: '',
  width: 192,
  height: 256,
  steps: 20,
  cfgScale: 7,
  sampler: 'euler_a',
  seeds: [42],
}

/** The first image that the preview backend draws for the request, changed so. */
export async function draw(change: Partial<InferenceRequest> = {}): Promise<Buffer> {
  const [image] = await backend.generate({ ...request, ...change }, { signal })
  return image?.bytes ?? expect.fail('no image')
}
