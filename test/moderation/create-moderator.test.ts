import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ModerationRulesError } from '../../src/moderation/categories-file.js'
import { createModerator, requireWords } from '../../src/moderation/create-moderator.js'
import { languages } from '../../src/moderation/engine/language.js'

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
    expect(errorOf({ categories: [{ name: 'x', terms: ['ok'], besides: [] }] })).toContain(
      'categories[0]: holds a key that is not known',
    )
    expect(errorOf({ categories: [], minors: [] })).toContain('the file: holds a key that is not known')
  })

  it.each([
    ['{"categories": [', 'line 1, column 17'],
    ['{"categories": [hunter2]}', 'line 1, column 17'],
    ['hunter2', 'line 1, column 1'],
    [`{\n  "categories": [],\n  "key": hunter2 ${' '.repeat(60)}\n}`, 'line 3, column 10'],
    ['{"categories": []\n"hunter2": 1}', 'line 2, column 1'],
    ['{"categories": "hunter2', 'line 1, column 24'],
  ])('says where %j is no JSON, and quotes nothing of it', (content, place) => {
    const message = errorOf(content)
    expect(message).toMatch(/^MODERATION_RULES: the file \S+ is not valid JSON from line \d+, column \d+ on\.$/)
    expect(message).toContain(place)
    expect(message).not.toContain('hunter2')
  })

  it.each([
    { hunter2: 1 },
    { categories: [{ name: 'x', terms: ['x1'], hunter2: 1 }] },
    { categories: [{ name: 'x', terms: ['x1'], models: 'hunter2' }] },
    { categories: 'hunter2' },
  ])('quotes nothing of JSON of another form: %j', (content) => {
    expect(errorOf(content)).toMatch(/can't be used/)
    expect(errorOf(content)).not.toContain('hunter2')
  })

  it('gives its errors no cause, which a log would print with the file in it', () => {
    expect.assertions(1)
    try {
      createModerator({ rulesFile: givenRules('hunter2') })
    } catch (error) {
      expect((error as Error).cause).toBeUndefined()
    }
  })
})

describe('the built-in words', () => {
  it('are there, in every language', () => {
    expect(() => requireWords(languages)).not.toThrow()
  })

  it('stop the start when they are missing', () => {
    const [first] = languages
    if (!first) throw new Error('no language')
    for (const known of [[], [{ ...first, minors: [] }], [{ ...first, sexual: [' , '] }]]) {
      expect(() => requireWords(known)).toThrow('The built-in moderation rules are missing: install Easel again.')
    }
  })
})
