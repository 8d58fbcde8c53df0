import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { redisAvailable, redisUrl } from './services.js'

/** As many files do it: while they are loaded. */
const early = redisAvailable ? await redisUrl() : undefined

describe.skipIf(!redisAvailable)('the Redis database of a test file', () => {
  it('belongs to this file alone, although other files run in the same process', async () => {
    expect(await redisUrl()).toBe(early)
    expect(await redisUrl(fileURLToPath(import.meta.url))).toBe(early)
    expect(await redisUrl('another file')).not.toBe(early)
  })
})
