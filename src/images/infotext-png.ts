import { chunk } from './png.js'

/** The signature and the IHDR chunk: what follows may be text. */
const HEAD_LENGTH = 8 + 25

/**
 * The same PNG with an infotext under the keyword `parameters`, where AUTOMATIC1111 and most tools look for it: in a
 * tEXt chunk, or in an uncompressed iTXt chunk if it has more than ASCII, since not all take a tEXt chunk for Latin-1.
 * Pixels and other chunks stay as they are.
 */
export function withInfotext(png: Buffer, infotext: string): Buffer {
  const bytes = Buffer.from(infotext)
  const isAscii = bytes.length === infotext.length
  const text = isAscii
    ? chunk('tEXt', Buffer.concat([Buffer.from('parameters\0'), bytes]))
    : chunk('iTXt', Buffer.concat([Buffer.from('parameters\0\0\0\0\0'), bytes]))
  return Buffer.concat([png.subarray(0, HEAD_LENGTH), text, png.subarray(HEAD_LENGTH)])
}
