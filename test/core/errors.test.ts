import { expect, it } from 'vitest'
import { invalidApiKey, serviceUnavailable } from '../../src/core/errors.js'

it('a fault has a stack trace, which is logged, and a refusal has none', () => {
  expect(serviceUnavailable(5).stack).toContain('errors.test.ts')
  expect(invalidApiKey().stack).toBe(`${invalidApiKey()}`)
  expect(new Error('any other').stack).toContain('errors.test.ts')
})
