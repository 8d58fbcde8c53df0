import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { FileFault, parseJson, readJsonFile, textOf } from '../../src/lib/json-file.js'

const WORDS = '{"name": "Größe — 灯台"}'
const utf16be = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()

it('is read as editors and shells on Windows write it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'easel-words-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'words.json')
  const crlf = WORDS.replace(' ', '\r\n')
  for (const bytes of [
    ...[WORDS, `\ufeff${WORDS}`, crlf, `${WORDS}\r\n\x20`].map((text) => Buffer.from(text)),
    ...[Buffer.from(`\ufeff${WORDS}`, 'utf16le'), utf16be(WORDS), Buffer.from(`\ufeff${crlf}`, 'utf16le')],
  ]) {
    writeFileSync(path, bytes)
    expect(readJsonFile(path)).toEqual({ name: 'Größe — 灯台' })
  }
})

it('in any other encoding is refused, since a guess would store wrong letters', () => {
  const others = [
    ...[Buffer.from('{"name": "Größe"}', 'latin1'), Buffer.from([0x80]), Buffer.from(WORDS, 'utf16le')],
    ...[Buffer.concat([utf16be(WORDS), Buffer.from([0xd8])]), Buffer.from('\x89PNG\r\n', 'latin1')],
  ]
  for (const bytes of others)
    expect(() => textOf(bytes)).toThrow(new FileFault('is not text in UTF-8: save it in that encoding'))
  expect(textOf(Buffer.from('\x89PNG\r\n', 'latin1'), { orPicture: true })).toBe('\ufffdPNG\r\n')
  expect(() => textOf(Buffer.from('Größe', 'latin1'), { orPicture: true })).toThrow('is not text in UTF-8')
  expect(textOf(Buffer.alloc(0))).toBe('')
  expect(() => parseJson('[1,\r\n2,]')).toThrow('line 2, column 3')
})
