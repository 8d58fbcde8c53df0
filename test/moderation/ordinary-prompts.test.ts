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

  it('may exclude what is wrong with clothes, or nudity, from a picture of a child', async () => {
    const moderator = createModerator({})
    for (const variant of withNegatives('ordinary-negatives.txt'))
      expect(await moderator.review({ negativePrompt: '', ...variant, nsfwModel: true }), variant.prompt).toEqual({
        flagged: false,
      })
  })
})
