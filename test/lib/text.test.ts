import { describe, expect, it } from 'vitest'
import { isLine, isPlain, isStorable, readingOf } from '../../src/lib/text.js'

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

describe('a text of which people see all, in its order', () => {
  it.each([
    'Pro',
    'Café ☕',
    '⭐️ Pro',
    '👩🏽\u200d🎨',
    '1\ufe0f\u20e3',
    'پلن\u200cها',
    'पक्\u200dष',
    '專業',
    'תוכנית',
    'Zalgo\u0301',
  ])('is %j', (text) => {
    expect(isPlain(text)).toBe(true)
  })

  it.each([
    ...['\u202a', '\u202d', '\u202e', '\u2066', '\u2069', '\u200e', '\u200f', '\u061c'],
    ...[
      '\u200b',
      '\u200c',
      '\u200d',
      '\u2060',
      '\ufeff',
      '\u00ad',
      '\u034f',
      '\u3164',
      '\u115f',
      '\u180e',
      '\ufe0f',
      '\u{e0041}',
    ],
    ...['\0', '\u0007', '\u001b', '\u0085', '\u2028', '\ue000', '\ud800', '\uffff', '\u{1d173}'],
  ])('has not %j in it', (letter) => {
    for (const text of [`P${letter}ro`, `${letter}Pro`, `Pro${letter}`]) expect(isPlain(text)).toBe(false)
  })
})

describe('texts that people take for each other', () => {
  it.each(['pro', 'PRO', ' Pro ', 'P\u200bro', 'Ｐｒｏ', 'Рro', 'Рrо', 'ρro', 'Pro\u00a0'])(
    '%j reads as "Pro"',
    (text) => {
      expect(readingOf(text)).toBe(readingOf('Pro'))
    },
  )

  it.each(['Pr', 'Proo', 'Pro 2', 'Prö', 'P ro'])('%j does not', (text) => {
    expect(readingOf(text)).not.toBe(readingOf('Pro'))
  })
})
