import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { smallPreviews } from '../../src/images/small-previews.js'

/** What a preview becomes on its way to the board. */
async function shrunk(image: Buffer): Promise<Buffer> {
  let kept = Buffer.alloc(0)
  const board = smallPreviews({
    set: async (_id, _attempt, small) => {
      kept = Buffer.from(small)
    },
    get: async () => undefined,
  })
  await board.set('gen_1', 1, image)
  return kept
}

const noise = (width: number, height: number) =>
  sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } })

describe('a preview', () => {
  it.each([
    [832, 1216, 175, 256],
    [1216, 832, 256, 175],
    [104, 152, 104, 152],
  ])('of %i×%i pixels becomes a WebP of %i×%i', async (width, height, smallWidth, smallHeight) => {
    const small = await shrunk(
      await sharp({ create: { width, height, channels: 3, background: 'teal' } })
        .jpeg()
        .toBuffer(),
    )
    expect(await sharp(small).metadata()).toMatchObject({ format: 'webp', width: smallWidth, height: smallHeight })
  })

  it('is at most 24 KiB as a data URI, even where nothing can be compressed, and tells nothing but its pixels', async () => {
    const small = await shrunk(
      await noise(256, 256)
        .withExif({ IFD0: { ImageDescription: 'a prompt' } })
        .png()
        .toBuffer(),
    )
    expect(small.toString('latin1')).not.toContain('a prompt')
    expect(small.length).toBeGreaterThan(100)
    expect(`data:image/webp;base64,${small.toString('base64')}`.length).toBeLessThanOrEqual(24 * 1024)
  })

  it.each(['a preview', '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"/>'])(
    'is not shown where it is no PNG, JPEG or WebP: %s',
    async (bytes) => {
      await expect(shrunk(Buffer.from(bytes))).rejects.toThrow('no PNG, JPEG or WebP')
    },
  )
})
