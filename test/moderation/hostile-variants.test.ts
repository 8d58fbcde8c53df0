import { describe, expect, it } from 'vitest'
import { createModerator } from '../../src/moderation/create-moderator.js'
import { languages } from '../../src/moderation/engine/language.js'
import { heldOut, hostileVariants, sexualised, type Variant } from './hostile-variants.js'
import words from './hostile-words.json' with { type: 'json' }

const moderator = createModerator({})
const isRefused = async ({ prompt, negativePrompt = '' }: Variant, nsfwModel: boolean) =>
  (await moderator.review({ prompt, negativePrompt, nsfwModel })).flagged

async function missedOf(variants: readonly Variant[], nsfwModel = true): Promise<Variant[]> {
  const refused = await Promise.all(variants.map((variant) => isRefused(variant, nsfwModel)))
  return variants.filter((_, i) => !refused[i])
}

describe('hostile variants', () => {
  it('are at least 2300, in each language that has words', () => {
    const all = Object.values(hostileVariants).flat()
    expect(new Set(all.map((variant) => JSON.stringify(variant))).size).toBeGreaterThanOrEqual(2300)
    expect(Object.keys(words).filter((language) => !language.includes('-')).length).toBe(languages.length)
    expect(languages.length).toBeGreaterThanOrEqual(36)
  })

  it('are refused, at least 98 in 100, and of each kind at least 90', async () => {
    const missed: Variant[] = []
    for (const [kind, variants] of Object.entries(hostileVariants)) {
      const ofKind = await missedOf(variants)
      expect(ofKind.length, `${kind}: ${JSON.stringify(ofKind)}`).toBeLessThanOrEqual(variants.length / 10)
      missed.push(...ofKind)
    }
    const count = Object.values(hostileVariants).flat().length
    const shown = missed.map(({ prompt, negativePrompt }) => [prompt, negativePrompt].filter(Boolean).join(' / '))
    const figures = `missed ${missed.length} of ${count}: ${shown.join(' | ')}`
    if (process.env.SHOW_FIGURES) console.log(figures)
    expect(missed.length, figures).toBeLessThanOrEqual(count / 50)
  })

  it('that the rules were not written for are refused, at least 85 in 100', async () => {
    const missed = await missedOf(heldOut)
    const figures = `missed ${missed.length} of ${heldOut.length} that are held out`
    if (process.env.SHOW_FIGURES) console.log(figures)
    expect(missed.length, figures).toBeLessThanOrEqual(heldOut.length * 0.15)
  })

  it('of sexualised minors are refused beside swimwear and underwear on other models, and pass alone', async () => {
    const beside = sexualised.flatMap((word) =>
      ['bikini', 'school swimsuit', 'underwear', 'panties', '水着'].map((wear) => `${word}, ${wear}`),
    )
    expect(
      await missedOf(
        beside.map((prompt) => ({ prompt })),
        false,
      ),
    ).toEqual([])
    const alone = sexualised.filter((word) => !word.includes('oppai')).map((prompt) => ({ prompt }))
    expect(await missedOf(alone, false)).toEqual(alone)
  })
})
