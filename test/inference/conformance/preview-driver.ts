import { createPreviewBackend } from '../../../src/inference/preview/preview-backend.js'
import { attached } from '../given.js'
import type { Driver } from './driver.js'

export const previewDriver: Driver = {
  name: 'the preview',
  offers: { models: null, maxSeed: 4294967295, sizeMultiple: 8 },
  madeWith: { backend: 'preview', version: null, sampler: 'dpmpp_2m_karras', scheduler: null, of: 'dpmpp_2m_karras' },
  calls: [[4294967294, 4294967295, 0, 1]],
  given: async () => attached({ close: async () => undefined }, createPreviewBackend()),
}
