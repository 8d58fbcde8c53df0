import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createModerator } from '../../src/moderation/create-moderator.js'

const prompts = readFileSync(new URL('ordinary-prompts.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const AVOIDED = 'child, nsfw, nude, worst quality, extra fingers'

async function flaggedAmong(nsfwModel: boolean): Promise<number> {
  const moderator = createModerator({})
  const verdicts = await Promise.all(
    prompts.map((prompt) => moderator.review({ prompt, negativePrompt: AVOIDED, nsfwModel })),
  )
  return verdicts.filter(({ flagged }) => flagged).length
}

describe('ordinary prompts', () => {
  it('are at least 500, each another one', () => {
    expect(new Set(prompts).size).toBe(prompts.length)
    expect(prompts.length).toBeGreaterThanOrEqual(500)
  })

  it.each([true, false])('pass, at least 99 in 100, when the model being NSFW is %s', async (nsfwModel) => {
    expect(await flaggedAmong(nsfwModel)).toBeLessThanOrEqual(prompts.length / 100)
  })
})
