import { crc32 } from 'node:zlib'
import { lengthOf, pngChunks } from '../core/images/image-bytes.js'

/** All that a published image keeps of what the encoder wrote; sRGB and our own text are added. */
const KEPT = new Set(['IHDR', 'IDAT', 'IEND'])
const SIGNATURE_LENGTH = 8
/** Perceptual rendering intent, the usual one for images. */
const SRGB = chunk('sRGB', Buffer.from([0]))

/**
 * A PNG as it is published: the header, the XMP packet in one uncompressed iTXt chunk right after it, the mark of the
 * sRGB colour space, and the pixels. Every other chunk is left out. `encoded` is a plain PNG, or our own encoder's RGB
 * output.
 */
export function publishablePng(encoded: Buffer, xmp: string): Buffer {
  const parts = [encoded.subarray(0, SIGNATURE_LENGTH)]
  for (const { name, chunk: kept } of pngChunks(encoded)) {
    if (KEPT.has(name)) parts.push(kept)
    if (name === 'IHDR') parts.push(chunk('iTXt', xmpText(xmp)), SRGB)
  }
  return Buffer.concat(parts)
}

/** Keyword, no compression, no language, no translated keyword: the form of XMP readers (XMP part 3, 1.1.5). */
const xmpText = (xmp: string) => Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmp}`)

/** A chunk in pieces: its length and name, its data, and the checksum of name and data. */
export function chunkPieces(name: string, data: readonly Buffer[]): Buffer[] {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(lengthOf(data))
  head.write(name, 4, 'latin1')
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(data.reduce((crc, piece) => crc32(piece, crc), crc32(head.subarray(4))))
  return [head, ...data, checksum]
}

export function chunk(name: string, data: Buffer): Buffer {
  return Buffer.concat(chunkPieces(name, [data]))
}

/**
 * IPTC's word for "made by a generative model", as search engines and platforms read it:
 * https://cv.iptc.org/newscodes/digitalsourcetype/
 */
const TRAINED_ALGORITHMIC_MEDIA = 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia'
/** The packet identifier that the XMP specification (ISO 16684-1) fixes for every packet. */
const PACKET_ID = 'W5M0MpCehiHzreSzNTczkc9d'

/** The XMP packet of a generated image: how it was made, with which model and seed, not who asked for what. */
export function generatedByAi({ seed, model }: { readonly seed: number; readonly model: string }): string {
  return [
    `<?xpacket begin="\uFEFF" id="${PACKET_ID}"?>`,
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about=""',
    ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
    ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
    ' xmlns:easel="urn:easel:generation#">',
    '<xmp:CreatorTool>Easel</xmp:CreatorTool>',
    `<Iptc4xmpExt:DigitalSourceType>${TRAINED_ALGORITHMIC_MEDIA}</Iptc4xmpExt:DigitalSourceType>`,
    `<easel:seed>${seed}</easel:seed>`,
    `<easel:model>${xmlText(model)}</easel:model>`,
    '</rdf:Description>',
    '</rdf:RDF>',
    '</x:xmpmeta>',
    '<?xpacket end="r"?>',
  ].join('\n')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** Control characters, lone surrogates and non-characters have no place in XML 1.0, not even escaped. */
const xmlText = (text: string) =>
  text.replace(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

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
