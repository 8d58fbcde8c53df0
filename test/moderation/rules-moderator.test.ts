import { describe, expect, it } from 'vitest'
import { createMinorsRule } from '../../src/moderation/engine/minors-rule.js'
import { createRulesModerator } from '../../src/moderation/rules-moderator.js'

const minors = createMinorsRule([
  {
    minors: ['zorblax, quibber, tolmi, wendle'],
    sexual: ['vimo'],
    nudity: ['kreel'],
    young: ['tiny'],
    people: ['galdo'],
    adults: ['marn'],
    adulthood: ['ostrel'],
    artworks: ['pabble'],
    pointers: ['shul'],
    ambiguous: { minors: ['dref'] },
    ordinary: { minors: ['tiny vessel'] },
  },
  { minors: ['hurn'], sexual: ['blent'], nudity: ['sorn'] },
])
const moderator = createRulesModerator(minors, [
  { category: 'tools', models: 'sfw', terms: { terms: ['hamdrel'] } },
  { category: 'sexual tools', models: 'all', terms: { terms: ['wrenlo'] }, beside: 'sexual' },
])
const review = (prompt: string, negativePrompt = '', nsfwModel = false) =>
  moderator.review({ prompt, negativePrompt, nsfwModel })
const flags = async (prompt: string) => (await review(prompt)).flagged

describe('createRulesModerator', () => {
  it('refuses a term that stands alone', async () => {
    expect(await review('a hamdrel')).toEqual({
      flagged: true,
      parameter: 'prompt',
      category: 'tools',
      matched: ['hamdrel'],
    })
  })

  it('leaves models marked as NSFW out of rules for the others', async () => {
    expect(await review('a hamdrel', '', true)).toEqual({ flagged: false })
  })

  it('refuses a combination only when both sides are there', async () => {
    expect(await flags('zorblax')).toBe(false)
    expect(await flags('vimo')).toBe(false)
    expect(await review('vimo, zorblax')).toMatchObject({
      category: 'sexual content with minors',
      matched: ['zorblax', 'vimo'],
    })
    expect(await flags('wrenlo')).toBe(false)
    expect(await review('a kreel, a wrenlo')).toMatchObject({ category: 'sexual tools', matched: ['wrenlo', 'kreel'] })
  })

  it('does not combine the prompt with what the negative prompt avoids', async () => {
    expect(await review('zorblax', 'vimo')).toEqual({ flagged: false })
    expect(await review('', 'hamdrel, zorblax, vimo')).toEqual({ flagged: false })
  })

  it('refuses a negative prompt that asks for a minor by avoiding adulthood', async () => {
    expect(await review('vimo', '0strel')).toEqual({
      flagged: true,
      parameter: 'negative_prompt',
      category: 'sexual content with minors',
      matched: ['ostrel', 'vimo'],
      secret: true,
    })
    expect(await review('a kite', 'ostrel')).toEqual({ flagged: false })
  })

  it('names at most three words of each side', async () => {
    expect(await review('zorblax quibber tolmi wendle vimo')).toMatchObject({
      matched: ['zorblax', 'quibber', 'tolmi', 'vimo'],
    })
  })

  it('joins a word for young to a person up to three words later in the clause', async () => {
    for (const text of ['tiny kreel galdo', 'a tiny red and kreel galdo', 'tiny galdo, kreel'])
      expect(await flags(text), text).toBe(true)
    for (const text of [
      'kreel galdo, tiny',
      'tiny, kreel galdo',
      'a tiny a b c d galdo, kreel',
      'tiny vessel galdo kreel',
    ])
      expect(await flags(text), text).toBe(false)
  })

  it('counts an ambiguous word beside words of its own language only', async () => {
    expect(await flags('dref kreel')).toBe(true)
    expect(await flags('dref sorn')).toBe(false)
    expect(await flags('hurn kreel')).toBe(true)
  })

  it('lets adult nudes of art share a prompt, not a sentence, with minors', async () => {
    expect(await flags('A kreel marn pabble. A zorblax.')).toBe(false)
    for (const text of [
      'A kreel marn pabble, a zorblax.',
      'A kreel pabble. A zorblax.',
      'A kreel marn. A zorblax.',
      'A vimo marn pabble. A zorblax.',
      'A kreel marn pabble. Shul a zorblax.',
      'A kreel marn pabble. A kreel zorblax.',
    ])
      expect(await flags(text), text).toBe(true)
  })
})
