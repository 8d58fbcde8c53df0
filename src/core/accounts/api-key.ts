import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32 // 32 base62 characters are 190 bits
const CHECKSUM_LENGTH = 6

const SHAPE = new RegExp(`^[A-Za-z0-9-]+_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** `<prefix>_` + 32 random base62 characters + the CRC-32 of all before it in base62, the format GitHub described in 2021. */
export function newApiKey(prefix: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(62)]).join('')
  const body = `${prefix}_${random}`
  return body + checksum(body)
}

/** Whether a key could be one of ours, told from the text alone: a typo or a fake is refused without a look-up. */
export function isWellFormedApiKey(key: string, prefix: string): boolean {
  if (!key.startsWith(`${prefix}_`) || !SHAPE.test(key)) return false
  return checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH)
}

/** All that is stored of a key. A fast hash is right: 190 random bits cannot be guessed. */
export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** The last characters, kept for display. */
export const apiKeyHint = (key: string): string => key.slice(-4)

function checksum(text: string): string {
  let sum = crc32(text)
  let digits = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = ALPHABET[sum % 62] + digits
    sum = Math.floor(sum / 62)
  }
  return digits
}
