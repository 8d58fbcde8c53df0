import { describe, expect, it } from 'vitest'
import type { ModelParameters } from '../../../src/core/catalog/model-parameters.js'
import { imagePrice } from '../../../src/core/catalog/price.js'
import { type AskedRequest, requestFor } from '../../../src/core/generations/submit/requested.js'

const REQUEST = {
  ...{ prompt: 'hills', negativePrompt: '', width: 832, height: 1216, batchSize: 1 },
  ...{ steps: 30, cfgScale: 7, sampler: 'euler_a', seed: undefined },
} as const
const ALL = ['negativePrompt', 'width', 'height', 'batchSize', 'steps', 'cfgScale', 'sampler'] as const

/** A request that sends only `sent`, to a model with these parameters. */
const drawnWith = (parameters: ModelParameters | null, sent: Partial<AskedRequest['request']> = {}, more = {}) =>
  requestFor(
    { parameters, modelName: 'Krea', name: '2 turbo' },
    {
      request: { ...REQUEST, ...sent } as AskedRequest['request'],
      omitted: ALL.filter((name) => !(name in sent)),
      ...more,
    },
  )

describe('the parameters that a model is drawn with', () => {
  it('are the request’s where the model has none of its own', () => {
    expect(drawnWith(null)).toEqual({ request: REQUEST, ignored: [] })
    expect(drawnWith({})).toEqual({ request: REQUEST, ignored: [] })
  })

  it('are the model’s defaults where the request leaves them out, and only there', () => {
    const parameters = { defaults: { steps: 8, cfgScale: 1, width: 1024, sampler: 'euler' } }
    expect(drawnWith(parameters).request).toEqual({ ...REQUEST, steps: 8, cfgScale: 1, width: 1024, sampler: 'euler' })
    expect(drawnWith(parameters, { steps: 12, width: 832 }).request).toMatchObject({
      steps: 12,
      width: 832,
      cfgScale: 1,
    })
  })

  it('keep the model’s default of what it ignores, whose names are told if they were sent', () => {
    const parameters: ModelParameters = {
      defaults: { cfgScale: 1, negativePrompt: 'text', sampler: 'euler' },
      ignored: ['cfgScale', 'negativePrompt', 'sampler'],
    }
    const { request, ignored } = drawnWith(parameters, { cfgScale: 9, negativePrompt: 'blurry', sampler: 'ddim' })
    expect(request).toMatchObject({ cfgScale: 1, negativePrompt: 'text' })
    expect(ignored).toEqual(['cfgScale', 'negativePrompt', 'sampler'])
    // An empty text asks for nothing.
    expect(drawnWith(parameters, { negativePrompt: '' }).ignored).toEqual([])
    expect(drawnWith(parameters).ignored).toEqual([])
  })

  it.each([
    [{ steps: 13 }, 'steps must be from 1 to 12 for Krea 2 turbo.'],
    [{ cfgScale: 0.5 }, 'cfg_scale must be from 1 to 4 for Krea 2 turbo.'],
    [{ batchSize: 2 }, 'batch_size must be from 1 to 1 for Krea 2 turbo.'],
  ])('must be within the model’s limits: %o', (sent, sentence) => {
    const limits = { steps: { min: 1, max: 12 }, cfgScale: { min: 1, max: 4 }, batchSize: { min: 1, max: 1 } }
    const parameters = { defaults: { steps: 8, cfgScale: 1 }, limits }
    expect(() => drawnWith(parameters, sent)).toThrow(sentence)
  })

  it('may be anything where the model ignores them', () => {
    const parameters: ModelParameters = {
      defaults: { steps: 8 },
      limits: { steps: { min: 1, max: 12 } },
      ignored: ['steps'],
    }
    expect(drawnWith(parameters, { steps: 50 }).request.steps).toBe(8)
  })

  it('are within the canvas also where only one side is asked for', () => {
    expect(() => drawnWith({ defaults: { height: 2048 } }, { width: 2048 })).toThrow('width × height')
  })

  it('are moved into the model’s limits where the request leaves them out, whatever the interface’s are', () => {
    const interfaceLimits = { steps: { min: 20, max: 50 } }
    const parameters = { defaults: { steps: 8 }, limits: { steps: { min: 1, max: 12 } } }
    expect(drawnWith(parameters, {}, { interfaceLimits }).request.steps).toBe(12)
    expect(drawnWith({ limits: { steps: { min: 1, max: 12 } } }).request.steps).toBe(12)
  })

  it('are moved into the interface’s limits, but for what the model ignores', () => {
    const interfaceLimits = { steps: { min: 20, max: 50 }, cfgScale: { min: 1, max: 20 } }
    const parameters = { defaults: { steps: 8, cfgScale: 0.5 } }
    expect(drawnWith(parameters, {}, { interfaceLimits }).request).toMatchObject({ steps: 20, cfgScale: 1 })
    const fixed: ModelParameters = { ...parameters, ignored: ['steps', 'cfgScale'] }
    expect(drawnWith(fixed, {}, { interfaceLimits }).request).toMatchObject({ steps: 8, cfgScale: 0.5 })
  })
})

describe('the price of an image', () => {
  const SIZE = { width: 1000, height: 1000, steps: 30 }
  it.each([
    [{ creditsPerImage: 3, pricing: null }, 3],
    [{ creditsPerImage: 3, pricing: {} }, 3],
    [{ creditsPerImage: 0, pricing: { creditsPerMegapixel: 2 } }, 2],
    [{ creditsPerImage: 1, pricing: { creditsPerMegapixel: 2.0001 } }, 4],
    [{ creditsPerImage: 0, pricing: { creditsPerStep: 0.1 } }, 3],
    [{ creditsPerImage: 0, pricing: { creditsPerStep: 0.1, creditsPerMegapixel: 0.5 } }, 4],
    [{ creditsPerImage: 0, pricing: { creditsPerStep: 0.01, minimum: 5 } }, 5],
    [{ creditsPerImage: 1_000_000, pricing: { creditsPerMegapixel: 1_000_000 } }, 2_000_000],
  ])('is exact and rounded up: %o', (model, credits) => {
    expect(imagePrice(model, SIZE)).toBe(credits)
  })
})

describe('sizes of a model with multiples of its own', () => {
  const parameters: ModelParameters = { sizeMultiple: 16, defaults: { width: 1000, height: 1024 } }

  it('are moved to the multiple where the request leaves them out, and refused where it sends another', () => {
    expect(drawnWith(parameters).request).toMatchObject({ width: 992, height: 1024 })
    expect(drawnWith(parameters, { width: 1008 }).request.width).toBe(1008)
    expect(() => drawnWith(parameters, { height: 1000 })).toThrow('height must be a multiple of 16 for Krea 2 turbo.')
  })
})

describe('sizes of a model that enlarges its images', () => {
  it('are those whose image is not too large', () => {
    const parameters = { scale: 4, defaults: { width: 1024, height: 1024 } }
    expect(drawnWith(parameters).request).toMatchObject({ width: 1024, height: 1024 })
    expect(() => drawnWith(parameters, { width: 1032 })).toThrow(
      'width × height must be at most 1048576 pixels for Krea 2 turbo.',
    )
    expect(drawnWith({ scale: 2 }, { width: 2048, height: 1536 }).request.width).toBe(2048)
  })
})
