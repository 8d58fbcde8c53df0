import { mix } from './noise.js'

/** PREVIEW in a 5 by 7 grid per letter, a string of bits per row: drawn, so that no machine's fonts matter. */
const LETTERS: Record<string, readonly number[]> = {
  P: [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000],
  R: [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001],
  E: [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
  V: [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
  I: [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
  W: [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001],
}
const MARK = 'PREVIEW'
const LETTER_WIDTH = 5
const LETTER_HEIGHT = 7

/** The mark in the lower right corner that tells a stand-in from a model's picture. */
export function stamp(bytes: Buffer, width: number, height: number) {
  const dot = Math.max(1, Math.round(Math.min(width, height) / 420))
  const padding = 4 * dot
  const across = (MARK.length * (LETTER_WIDTH + 1) - 1) * dot + 2 * padding
  const down = LETTER_HEIGHT * dot + 2 * padding
  const left = width - across - 4 * dot
  const top = height - down - 4 * dot
  for (let y = 0; y < down; y++)
    for (let x = 0; x < across; x++) {
      const column = Math.floor((x - padding) / dot)
      const row = Math.floor((y - padding) / dot)
      const letter = LETTERS[MARK[Math.floor(column / (LETTER_WIDTH + 1))] ?? '']
      const bit = LETTER_WIDTH - 1 - (column % (LETTER_WIDTH + 1))
      const inked = column >= 0 && row >= 0 && bit >= 0 && (((letter?.[row] ?? 0) >> bit) & 1) === 1
      const p = ((top + y) * width + left + x) * 3
      for (let channel = 0; channel < 3; channel++) {
        const under = bytes[p + channel] as number
        bytes[p + channel] = inked ? mix(under, 255, 0.82) : mix(under, 12, 0.38)
      }
    }
}
