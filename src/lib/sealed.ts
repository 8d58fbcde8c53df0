/** Text as bytes that nobody can read, or change unnoticed, without the key: gzip, then AES-256-GCM (NIST SP 800-38D). */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export const newKey = (): Buffer => randomBytes(32)

/** @param key of 32 bytes. Resolves to the nonce, what is encrypted, and the tag. */
export async function seal(text: string, key: Buffer): Promise<Buffer> {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce)
  const encrypted = cipher.update(await promisify(gzip)(text))
  return Buffer.concat([nonce, encrypted, cipher.final(), cipher.getAuthTag()])
}

/** @throws unless these bytes were sealed with this key */
export async function unseal(bytes: Buffer, key: Buffer): Promise<string> {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const zipped = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  return (await promisify(gunzip)(zipped)).toString()
}
