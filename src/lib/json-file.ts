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

/** @throws FileFault */
export const readJsonFile = (path: string): unknown => parseJson(readBytes(path).toString('utf8'))

/** @throws FileFault that says where the JSON stops being valid */
export function parseJson(content: string): unknown {
  const text = content.replace(/^\ufeff/, '')
  try {
    return JSON.parse(text)
  } catch (error) {
    const before = text.slice(0, faultIn(text, String(error))).split('\n')
    const place = `line ${before.length}, column ${(before.at(-1) as string).length + 1}`
    throw new FileFault(`is not valid JSON from ${place} on`)
  }
}

/** Where the JSON stops being valid. V8 names some places only; an unexpected token ends the shortest faulty text. */
function faultIn(text: string, fault: string): number {
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
