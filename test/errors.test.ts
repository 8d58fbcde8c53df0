import { expect, it } from 'vitest'
import { invalidApiKey, serviceUnavailable } from '../src/errors.js'

it('captures where a fault came from, which is logged, but not where a refusal did', () => {
  expect(serviceUnavailable(5).stack).toContain('errors.test.ts')
  expect(invalidApiKey().stack).toBe(`${invalidApiKey()}`)
  expect(new Error('any other').stack).toContain('errors.test.ts')
})
