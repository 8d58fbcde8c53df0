/** One harmless made-up word per length, and the ways in which people hide a word from a filter. */
export const LONG_CANARY = 'zorblax'
export const SHORT_CANARY = 'vimo'

const between = (mark: string) => (word: string) => [...word].join(mark)
const halves = (word: string): [string, string] => [word.slice(0, 2), word.slice(2)]
const reverse = (word: string): string => [...word].reverse().join('')

/** Letters from a block of Unicode that has them in order. */
const block = (a: number) => (word: string) =>
  [...word].map((letter) => String.fromCodePoint(a + letter.charCodeAt(0) - 97)).join('')

/** Letters from a hand-written alphabet; those it lacks stay. */
const alphabet = (letters: Record<string, string>) => (word: string) =>
  [...word].map((letter) => letters[letter] ?? letter).join('')

const joined = (wrap: (head: string, tail: string) => string) => (word: string) => wrap(...halves(word))

/** Every disguise as a function of the plain word. */
export const disguises: Readonly<Record<string, (word: string) => string>> = {
  'upper case': (word) => word.toUpperCase(),
  'mixed case': (word) => [...word].map((letter, i) => (i % 2 ? letter.toUpperCase() : letter)).join(''),
  leetspeak: alphabet({ o: '0', l: '1', i: '1', a: '4', z: '2', b: '8' }),
  'marks for letters': alphabet({ o: '0', l: '|', i: '!', a: '@' }),
  'a masked vowel': (word) => word.replace(/[ai]/, '*'),
  'repeated letters': (word) => [...word].map((letter, i) => letter.repeat(1 + (i % 3))).join(''),
  'Cyrillic look-alikes': alphabet({ o: 'о', a: 'а', x: 'х', i: 'і', m: 'м', v: 'ѵ', r: 'г' }),
  'Greek look-alikes': alphabet({ o: 'ο', a: 'α', x: 'χ', i: 'ι', v: 'ν', z: 'ζ' }),
  'Armenian and Cherokee look-alikes': alphabet({ o: 'օ', l: 'Ꮮ', z: 'Ꮓ', v: 'Ꮩ', i: 'Ꭵ', m: 'Ꮇ', r: 'Ꭱ' }),
  'small capitals': alphabet({ z: 'ᴢ', o: 'ᴏ', r: 'ʀ', b: 'ʙ', l: 'ʟ', a: 'ᴀ', v: 'ᴠ', i: 'ɪ', m: 'ᴍ' }),
  'syllabics of a fancy-text generator': alphabet({
    z: 'ᘔ',
    o: 'O',
    r: 'ᖇ',
    b: 'ᗷ',
    l: 'ᒪ',
    a: 'ᗩ',
    x: '᙭',
    v: 'ᐯ',
    m: 'ᗰ',
  }),
  'a capital I for an l': (word) => word.replace(/[li]/, 'I'),
  fullwidth: block(0xff41),
  'mathematical bold': block(0x1d41a),
  'mathematical fraktur': block(0x1d51e),
  'mathematical double-struck': block(0x1d552),
  circled: block(0x24d0),
  'negative circled': block(0x1f150),
  'negative squared': block(0x1f170),
  parenthesised: block(0x249c),
  'regional indicators': block(0x1f1e6),
  'combining marks': between('\u0336\u0301'),
  'accented letters': alphabet({ z: 'ž', o: 'ö', r: 'ř', a: 'å', i: 'ï', m: 'ḿ' }),
  'zero-width spaces': between('\u200b'),
  'zero-width joiners': between('\u200d'),
  'soft hyphens': between('\u00ad'),
  'variation selectors': between('\ufe0f'),
  'tag characters': between('\u{e0061}'),
  'invisible fillers': between('\u3164'),
  spaced: between(' '),
  dotted: between('.'),
  hyphenated: between('-'),
  underscored: between('_'),
  'emoji between': between('🔥'),
  'split by a space': joined((head, tail) => `${head} ${tail}`),
  'split by a comma': joined((head, tail) => `${head},${tail}`),
  'split by a line end': joined((head, tail) => `${head}\n${tail}`),
  'split by a keyword': joined((head, tail) => `${head} BREAK ${tail}`),
  'split by brackets': joined((head, tail) => `${head}[${tail}]`),
  'split inside brackets': (word) => `${word[0]}((${word[1]}))${word.slice(2)}`,
  weighted: (word) => `(${word}:1.3)`,
  'weighted in part': joined((head, tail) => `${head}(${tail}:1.2)`),
  'weighted part by part': joined((head, tail) => `(${head}:1.1)(${tail}:0.9)`),
  'prompt editing': joined((head, tail) => `[${head}:${tail}:0.5]`),
  alternation: (word) => `[cat|${word}|dog]`,
  'a model file': (word) => `<lora:${word}:0.8>`,
  emphasis: (word) => `**${word}**`,
  'digits attached': (word) => `2${word}99`,
  'camel case beside another word': (word) => `${word}${word[0]?.toUpperCase()}${word.slice(1)}`,
  reversed: reverse,
  'reversed and spaced': (word) => between(' ')(reverse(word)),
  'a right-to-left override': (word) => `\u202e${reverse(word)}\u202c`,
  'a right-to-left override inside': joined((head, tail) => `${head}\u202e${reverse(tail)}\u202c`),
  'upside down': (word) =>
    alphabet({ z: 'z', o: 'o', r: 'ɹ', b: 'q', l: 'l', a: 'ɐ', v: 'ʌ', i: 'ı', m: 'ɯ' })(reverse(word)),
  'several at once': (word) => `(${between('\u200b')(alphabet({ o: 'о', a: '4', i: '1' })(word)).toUpperCase()}:1.2)`,
}
