import { describe, expect, it } from 'vitest'
import { createRulesModerator } from '../../src/moderation/rules-moderator.js'
import type { TermList } from '../../src/moderation/term-matcher.js'

const fruit: TermList = { terms: ['zorblax', 'quibber', 'tolmi', 'wendle'] }
const colours: TermList = { terms: ['vimo', 'kreel'] }
const ripeness: TermList = { terms: ['ostrel'] }
const moderator = createRulesModerator([
  { category: 'coloured fruit', models: 'all', terms: fruit, beside: colours, avoided: ripeness },
  { category: 'tools', models: 'sfw', terms: { terms: ['hamdrel'] } },
])
const review = (prompt: string, negativePrompt = '', nsfwModel = false) =>
  moderator.review({ prompt, negativePrompt, nsfwModel })

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
    expect(await review('zorblax')).toEqual({ flagged: false })
    expect(await review('vimo')).toEqual({ flagged: false })
    expect(await review('vimo, zorblax')).toMatchObject({ category: 'coloured fruit', matched: ['zorblax', 'vimo'] })
  })

  it('does not combine the prompt with what the negative prompt avoids', async () => {
    expect(await review('zorblax', 'vimo')).toEqual({ flagged: false })
    expect(await review('', 'hamdrel, zorblax, vimo')).toEqual({ flagged: false })
  })

  it('refuses a negative prompt that asks for the term by avoiding its opposite', async () => {
    expect(await review('vimo', '0strel')).toEqual({
      flagged: true,
      parameter: 'negative_prompt',
      category: 'coloured fruit',
      matched: ['ostrel', 'vimo'],
    })
    expect(await review('a kite', 'ostrel')).toEqual({ flagged: false })
  })

  it('names at most three words of each side', async () => {
    expect(await review('zorblax quibber tolmi wendle vimo')).toMatchObject({
      matched: ['zorblax', 'quibber', 'tolmi', 'vimo'],
    })
  })
})
