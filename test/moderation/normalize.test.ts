import { describe, expect, it } from 'vitest'
import { undisguise } from '../../src/moderation/engine/normalize.js'

describe('undisguise', () => {
  it('makes no text longer than four letters a character', () => {
    const characters = Array.from({ length: 0x30000 }, (_, code) => String.fromCodePoint(code))
    expect(characters.filter((character) => undisguise(character.repeat(5)).length > 5 * 4)).toEqual([])
  })

  it('reads circled numbers, and no fraction as a part of a number', () => {
    expect(undisguise('➀➁ ❸ ➌ ⓵ ⓬ ⓴')).toBe('12 3 3 1 12 20')
    expect(undisguise('10½')).toBe('10 ')
  })

  it('keeps the vowel signs of Hindi and Thai where they belong, and nowhere else', () => {
    expect(undisguise('नंगा')).toBe('नंगा')
    expect(undisguise('เด็ก')).toBe('เด็ก')
    expect(undisguise('zo\u093e\u0947rb\u0e31la\u0e47x')).toBe('zorblax')
  })
})
