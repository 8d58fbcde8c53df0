/** Text and JSON files that people write. What is wrong with one is said in words that go on after its path. */
import { readFileSync } from 'node:fs'

/** Such as "can't be read (ENOENT)". It quotes nothing: the path may name a file that is not ours to show. */
export class FileFault extends Error {}

/** @throws FileFault */
export function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new FileFault(`can't be read (${(error as NodeJS.ErrnoException).code ?? error})`)
  }
}

/** How a PNG, JPEG, WebP or GIF begins. */
const PICTURE = /^(\x89PNG|\xff\xd8|RIFF|GIF8)/

/**
 * As Windows writes files, too: UTF-16, which its mark tells, or UTF-8 with one. A mark is left out.
 * @param orPicture reads a picture as text, too, for a caller that has a sentence of its own about pictures
 * @throws FileFault for what is neither: to guess would store wrong letters
 */
export function textOf(
  bytes: Buffer,
  { orPicture = false }: { readonly orPicture?: boolean | undefined } = {},
): string {
  const mark = bytes.length < 2 ? 0 : bytes.readUInt16BE(0)
  const encoding = mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : 'utf-8'
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    // UTF-16 without a mark.
    if (!text.includes('\0')) return text
  } catch {
    // Said below.
  }
  if (orPicture && PICTURE.test(bytes.toString('latin1', 0, 4))) return bytes.toString()
  throw new FileFault('is not text in UTF-8: save it in that encoding')
}

/** @throws FileFault */
export const readJsonFile = (path: string): unknown => parseJson(textOf(readBytes(path)))

/** @throws FileFault that says where the JSON stops being valid */
export function parseJson(content: string): unknown {
  const text = content.replace(/^\ufeff/, '')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new FileFault(`is not valid JSON from ${placeIn(text, faultIn(text, String(error)))} on`)
  }
}

/** Where a place in a text is, counted from 1: "line 2, column 3". */
export function placeIn(text: string, at: number): string {
  const before = text.slice(0, at).split('\n')
  return `line ${before.length}, column ${(before.at(-1) as string).length + 1}`
}

/** Where the JSON stops being valid. V8 names some places only; an unexpected token ends the shortest faulty text. */
export function faultIn(text: string, fault: string): number {
  const named = /at position (\d+)/.exec(fault)?.[1]
  if (named !== undefined) return Number(named)
  if (!fault.includes('Unexpected token')) return text.length
  let [sound, faulty] = [0, text.length]
  while (faulty - sound > 1) {
    const middle = (sound + faulty) >> 1
    if (hasUnexpectedToken(text.slice(0, middle))) faulty = middle
    else sound = middle
  }
  return sound
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return String(error).includes('Unexpected token')
  }
}
