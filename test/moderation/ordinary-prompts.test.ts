import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createModerator } from '../../src/moderation/create-moderator.js'
import { harmlessWords, withNegatives } from './hostile-variants.js'

const written = readFileSync(new URL('ordinary-prompts.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const prompts = [...written, ...harmlessWords]
const AVOIDED = 'child, nsfw, nude, worst quality, extra fingers'

async function flaggedAmong(nsfwModel: boolean): Promise<string[]> {
  const moderator = createModerator({})
  const verdicts = await Promise.all(
    prompts.map((prompt) => moderator.review({ prompt, negativePrompt: AVOIDED, nsfwModel })),
  )
  return prompts.filter((_, i) => verdicts[i]?.flagged)
}

describe('ordinary prompts', () => {
  it('are at least 2000, each another one', () => {
    expect(new Set(prompts).size).toBe(prompts.length)
    expect(written.length).toBeGreaterThanOrEqual(2000)
  })

  it.each([true, false])('pass, at least 199 in 200, when the model being NSFW is %s', async (nsfwModel) => {
    const flagged = await flaggedAmong(nsfwModel)
    const figures = `flagged ${flagged.length} of ${prompts.length}: ${flagged.join(' | ')}`
    if (process.env.SHOW_FIGURES) console.log(figures)
    expect(flagged.length, figures).toBeLessThanOrEqual(prompts.length / 200)
  })

  it('may name any size of an image, which is no word in digits', async () => {
    const moderator = createModerator({})
    const sides = [256, 350, 353, 512, 530, 1024, 1080, 1350, 1353, 1536, 5350, 7680]
    const sizes = sides.flatMap((width) => sides.flatMap((height) => [`${width}x${height}`, `${width} × ${height}px`]))
    for (const size of [...sizes, '1080Х1350', '1080X1350p'])
      expect(
        await moderator.review({ prompt: `children on a swing, ${size}`, negativePrompt: '', nsfwModel: true }),
        size,
      ).toEqual({ flagged: false })
    for (const word of ['53x', '53x10', 's3x', '53xy', '353xy1080'])
      expect(
        await moderator.review({ prompt: `children, ${word}`, negativePrompt: '', nsfwModel: true }),
        word,
      ).toMatchObject({ flagged: true })
  })

  it('may exclude what is wrong with clothes, or nudity, from a picture of a child', async () => {
    const moderator = createModerator({})
    for (const variant of withNegatives('ordinary-negatives.txt'))
      expect(await moderator.review({ negativePrompt: '', ...variant, nsfwModel: true }), variant.prompt).toEqual({
        flagged: false,
      })
  })
})
