import { describe, expect, it } from 'vitest'
import { createModerator } from '../../src/moderation/create-moderator.js'
import { languages } from '../../src/moderation/engine/language.js'
import { hostileVariants } from './hostile-variants.js'
import words from './hostile-words.json' with { type: 'json' }

const moderator = createModerator({})

describe('hostile variants', () => {
  it('are at least 600, in each of the at least 20 languages that have words', () => {
    expect(new Set(Object.values(hostileVariants).flat()).size).toBeGreaterThanOrEqual(600)
    expect(Object.keys(words).length).toBe(languages.length)
    expect(languages.length).toBeGreaterThanOrEqual(20)
  })

  it('are refused, at least 98 in 100', async () => {
    const variants = Object.values(hostileVariants).flat()
    const verdicts = await Promise.all(
      variants.map((prompt) => moderator.review({ prompt, negativePrompt: '', nsfwModel: true })),
    )
    const missed = variants.filter((_, i) => !verdicts[i]?.flagged)
    const figures = `missed ${missed.length} of ${variants.length}: ${missed.join(' | ')}`
    if (process.env.SHOW_FIGURES) console.log(figures)
    expect(missed.length, figures).toBeLessThanOrEqual(variants.length / 50)
  })
})
