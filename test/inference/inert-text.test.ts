import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inertText, inertTextForWildcards } from '../../src/inference/inert-text.js'
import { readPrompt } from '../stand-ins/a1111/prompts.js'
import { effort, seedOf } from '../support/effort.js'
import { givenBackend } from './a1111/given.js'

/** Each would make some server load a file, or drop a part of the text. */
const NASTY = [
  ...['a cat <lora:style:1>', '<lora:style>', '<LoRA:style:1>', '<lyco:style:1>', '<hypernet:style:1>', '<style:film>'],
  ...['<<lora:a:1>lora:b:1>', '<lora:<lora:a:1>:1>', '<lor<lora:a:1>a:b:1>', '<a:b><lora:c:1>'],
  ...['<lоra:cyrillic:1>', '<ｌｏｒａ:wide:1>', '<2_é:x>', '<lora:a\nb:1>', '(<lora:a:1>:1.2)', '[<lora:a:1>:b:0.5]'],
  ...['\\<lora:a:1>', 'BREAK <lora:a:1> AND <lora:b:1>', '#\n<lora:a:1>', '<lora:../../etc/passwd:1>'],
]
/** These would, with what comes behind. */
const OPEN = ['a cat <lora:', '<x:', 'a <lora:b:1']
/** Of these SD.Next would make one. */
const NASTY_FOR_SDNEXT = [
  ...['{<lora:a:1>|x}', '<{lora|x}:a:1>', '{<|x}lora:a:1>', '{<{|}|x}lora:a:1>', '{< |x}lora:a:1>', '{<:1|x}lora:a:1>'],
  ...['<lo{}ra:a:1>', '<lo/* b */ra:a:1>', '</* b */lora:a:1>', '<lora{:|x}a:1>', '<lora:a{:1>|x}'],
  ...['__secret__', '____a____', '_/* */_secret_/* */_', '{_|x}{_|x}secret{_|x}{_|x}', '_{}_secret_{}_', '__a\nb__'],
]
const HARMLESS = [
  ...[
    'a < b',
    'I <3 cats',
    '< lora:a:1>',
    '<lora>',
    '(masterpiece:1.2), [dog:cat:0.5]',
    'BREAK a AND b',
    'x->y',
    '{a|b}',
  ],
  ...['snake_case, long_hair', 'a:b <c> d:e', '＜lora:a:1＞', '__init', 'a # b'],
]

describe('a text that names files', () => {
  it.each(['a1111', 'forge', 'legacy', 'sdnext'] as const)('names none to %s, and is read whole', (dialect) => {
    const inert = dialect === 'sdnext' ? inertTextForWildcards : inertText
    for (const text of dialect === 'sdnext' ? [...NASTY, ...NASTY_FOR_SDNEXT] : NASTY) {
      expect(readPrompt(dialect, text), `${text} as it is`).not.toMatchObject({ files: [], text })
      const { files, text: read } = readPrompt(dialect, inert(text))
      expect(files, text).toEqual([])
      if (NASTY.includes(text) && !text.includes('#')) expect(read).toBe(inert(text))
    }
  })

  it('keeps all its words: CLIP splits what stands without a space as it does with one', () => {
    for (const text of [...NASTY, ...OPEN]) expect(inertText(text).replaceAll('< ', '<')).toBe(text)
  })

  it('cannot swallow what stands behind it', () => {
    for (const text of OPEN) expect(readPrompt('a1111', `${inertText(text)} <lora:b:1>`).files).toEqual(['lora:b:1'])
  })

  it('names none however its parts are put together', () => {
    const marks = ['<', '>', '{', '}', '|', ':', '_', '__', '/*', '*/', '#', '\n', ' ', 'lora', 'x', '1', 'é', '\\']
    const texts = fc.array(fc.constantFrom(...marks), { maxLength: 18 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(texts, (text) => {
        expect(readPrompt('a1111', inertText(text)).files).toEqual([])
        expect(readPrompt('sdnext', inertTextForWildcards(text)).files).toEqual([])
      }),
      { seed: seedOf(5), numRuns: 5_000 * effort },
    )
  })

  it('stays as it is where it names none', () => {
    for (const text of HARMLESS) expect([inertText(text), inertTextForWildcards(text)]).toEqual([text, text])
  })
})

it('makes no server of AUTOMATIC1111’s kin load a file for a subscriber, whichever prompt it is in', async () => {
  for (const dialect of ['a1111', 'forge', 'legacy', 'sdnext'] as const) {
    const { standIn, generate } = await givenBackend({ dialect })
    for (const prompt of [...NASTY, ...NASTY_FOR_SDNEXT]) await generate({ prompt, negativePrompt: prompt })
    expect(standIn.files()).toEqual([])
  }
})
