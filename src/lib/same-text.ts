import { timingSafeEqual } from 'node:crypto'

/**
 * Whether a text that somebody sent is exactly the right one, in a time that does not tell how much of it is. Signatures are compared as
 * texts: a decoder would take many of them for one, such as those with something behind their end.
 */
export function isSameText(given: string, right: string): boolean {
  const [sent, expected] = [Buffer.from(given), Buffer.from(right)]
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}
