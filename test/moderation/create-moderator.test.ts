import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ModerationRulesError } from '../../src/moderation/categories-file.js'
import { createModerator, requireRulesOnMinors } from '../../src/moderation/create-moderator.js'
import { rulesOnMinors } from '../../src/moderation/rules/built-in.js'

const folder = mkdtempSync(join(tmpdir(), 'easel-moderation-'))
afterAll(() => rmSync(folder, { recursive: true }))

function givenRules(content: unknown): string {
  const path = join(folder, 'rules.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const errorOf = (content: unknown): string => {
  try {
    createModerator({ rulesFile: givenRules(content) })
  } catch (error) {
    expect(error).toBeInstanceOf(ModerationRulesError)
    return (error as Error).message
  }
  return 'no error'
}

describe("the operator's rules file", () => {
  const review = (content: unknown, prompt: string, nsfwModel = false) =>
    createModerator({ rulesFile: givenRules(content) }).review({ prompt, negativePrompt: '', nsfwModel })

  it('adds categories of terms, disguises included', async () => {
    const rules = { categories: [{ name: 'made-up creatures', terms: ['zorblax'] }] }
    expect(await review(rules, 'a Z0R.BL4X')).toEqual({
      flagged: true,
      parameter: 'prompt',
      category: 'made-up creatures',
      matched: ['zorblax'],
    })
    expect(await review(rules, 'a lighthouse')).toEqual({ flagged: false })
  })

  it('may leave NSFW models out, excuse phrases and ask for a second word', async () => {
    const rules = {
      categories: [
        { name: 'a', terms: ['zorb'], except: ['zorb sauce'], models: 'sfw' },
        { name: 'b', terms: ['vimo'], beside: ['kreel*'] },
        { name: 'c', terms: ['jane quibber'], beside: 'sexual' },
      ],
    }
    expect(await review(rules, 'zorb')).toMatchObject({ category: 'a' })
    expect(await review(rules, 'zorb', true)).toEqual({ flagged: false })
    expect(await review(rules, 'zorb sauce')).toEqual({ flagged: false })
    expect(await review(rules, 'vimo')).toEqual({ flagged: false })
    expect(await review(rules, 'vimo, kreeling')).toMatchObject({ category: 'b', matched: ['vimo', 'kreel'] })
    expect(await review(rules, 'Jane Quibber')).toEqual({ flagged: false })
    expect(await review(rules, 'nude Jane Quibber')).toMatchObject({ category: 'c' })
  })

  it('replaces the default categories', async () => {
    expect(await review({ categories: [] }, 'necrophilia')).toEqual({ flagged: false })
  })

  it('takes nothing from the rules on minors', async () => {
    const rules = {
      categories: [{ name: 'x', terms: ['child', 'nude'], except: ['child', 'nude', 'nude child'], models: 'sfw' }],
    }
    expect(await review(rules, 'nude child', true)).toMatchObject({ category: 'sexual content with minors' })
  })

  it('stops the start with a sentence that names the variable, the file and the place', () => {
    const missing = join(folder, 'absent.json')
    expect(() => createModerator({ rulesFile: missing })).toThrow(
      `MODERATION_RULES: the file ${missing} can't be read (ENOENT).`,
    )
    expect(errorOf('{"categories": [')).toMatch(/^MODERATION_RULES: the file \S+ is not valid JSON \(.+\)\.$/s)
    expect(errorOf([])).toContain('the file: ')
    expect(errorOf({ categories: [{ name: 'x', terms: [] }] })).toContain(
      'categories[0].terms: must hold at least one term',
    )
    expect(errorOf({ categories: [{ name: 'x', terms: ['ok', 'a*b'] }] })).toContain(
      'categories[0].terms[1]: may have a *',
    )
    expect(errorOf({ categories: [{ name: 'x', terms: ['*e*'] }] })).toContain('must have at least two letters')
    expect(errorOf({ categories: [{ name: 'x', terms: ['…!?'] }] })).toContain('must have at least two letters')
    expect(errorOf({ categories: [{ name: 'x', terms: ['ok'], models: 'nsfw' }] })).toContain('must be "all" or "sfw"')
    expect(errorOf({ categories: [{ name: 'x', terms: ['ok'], besides: [] }] })).toContain('besides')
    expect(errorOf({ categories: [], minors: [] })).toContain('minors')
  })
})

describe('the built-in rules', () => {
  it('are there', () => {
    expect(() => requireRulesOnMinors(rulesOnMinors)).not.toThrow()
  })

  it('stop the start when they are missing or hollow', () => {
    const [first] = rulesOnMinors
    if (!first) throw new Error('no rule')
    for (const rules of [
      [],
      [{ ...first, terms: { terms: [] } }],
      [{ ...first, beside: { terms: [] } }],
      rulesOnMinors.slice(1),
    ]) {
      expect(() => requireRulesOnMinors(rules)).toThrow(
        'The built-in moderation rules are missing: install Easel again.',
      )
    }
  })
})
