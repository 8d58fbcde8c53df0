import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { redisAvailable, singleRedisUrl } from './services.js'

/** As many files do it: while they are loaded. */
const early = redisAvailable ? await singleRedisUrl() : undefined

describe.skipIf(!redisAvailable)('the Redis database of a test file', () => {
  it('belongs to this file alone, although other files run in the same process', async () => {
    expect(await singleRedisUrl()).toBe(early)
    expect(await singleRedisUrl(fileURLToPath(import.meta.url))).toBe(early)
    expect(await singleRedisUrl('another file')).not.toBe(early)
  })
})
