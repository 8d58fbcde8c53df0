import { describe, expect, it } from 'vitest'
import { isLine, isStorable } from '../../src/lib/text.js'

describe('a line that people can read', () => {
  it.each(['spam', '!', '7', '名', 'ن', '👍', 'a\u200bb', '👩\u200d🎨', 'x'.repeat(20), '👍'.repeat(20)])(
    'is %j',
    (text) => {
      expect(isLine(text, 20)).toBe(true)
    },
  )

  it.each([
    ['nothing', ''],
    ['a blank', ' '],
    ['a blank of no width', '\u200b'],
    ['joiners and marks of direction', '\u200d\u200e\u2066\u2069\ufeff'],
    ['other blanks', '\u00a0\u2003\u3000'],
    ['a soft hyphen', '\u00ad'],
    ['the fillers of Hangul', '\u3164\u115f\u1160\uffa0'],
    ['empty Braille', '\u2800\u2800'],
    ['a musical symbol that is drawn as nothing', '\u{1d159}'],
    ['variation selectors and tags', '\ufe0f\u{e0041}\u{e007f}'],
    ['a mark without a letter', '\u0301'],
    ['a letter of private use', '\ue000'],
    ['two lines', 'a\nb'],
    ['two lines as Unicode has them', 'a\u2028b'],
    ['a NUL', 'a\0b'],
    ['an escape', 'a\u001b[2J'],
    ['a lone surrogate', 'a\ud800'],
    ['more characters than there may be', 'x'.repeat(21)],
  ])('is not %s', (_what, text) => {
    expect(isLine(text, 20)).toBe(false)
  })
})

it('Postgres keeps text without NULs and lone surrogates as it is', () => {
  expect(['', 'a\nb', '😀', '\u200b'].map(isStorable)).toEqual([true, true, true, true])
  expect(['\0', 'a\0b', '\ud83d', '\ude00\ud83d'].map(isStorable)).toEqual([false, false, false, false])
})
