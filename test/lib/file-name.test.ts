import { expect, it } from 'vitest'
import { fileNameOf } from '../../src/lib/file-name.js'

it('a file is named by letters and digits alone, whatever the text holds', () => {
  const names = {
    'A lighthouse, at dusk!': 'a-lighthouse-at-dusk',
    '../../etc/passwd': 'etc-passwd',
    '..\\C:\\con': 'c-con',
    '\u202egnp.exe\0': 'gnp-exe',
    'Café नमस्ते 灯台': 'café-नमस्ते-灯台',
    '': 'image',
    '..': 'image',
  }
  for (const [text, name] of Object.entries(names)) expect(fileNameOf(text)).toBe(name)
})

it('pictographs leave nothing of themselves, which would be a name that nobody sees', () => {
  expect(fileNameOf('😀'.repeat(2000))).toBe('image')
  expect(fileNameOf('❤️'.repeat(2000))).toBe('image')
  expect(fileNameOf('❤️ castle')).toBe('castle')
})
