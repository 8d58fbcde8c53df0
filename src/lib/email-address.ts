import { domainToASCII } from 'node:url'

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
/** As fields for addresses in browsers have it, with a dot in the domain: whoever forgets the end of one means it. */
const EMAIL_ADDRESS = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@(?:${LABEL}\\.)+${LABEL}$`)

export const MAX_EMAIL_LENGTH = 254

/** An address as all mail servers take it: a domain with other letters in ASCII. Undefined: it is none. */
export function emailAddressIn(text: string): string | undefined {
  // In ASCII it is longer, and the pattern takes long for a long text.
  if (text.length > MAX_EMAIL_LENGTH) return undefined
  const at = text.lastIndexOf('@') + 1
  const domain = text.slice(at)
  // Some browsers send a domain as it was typed, others in ASCII. With any other sign it would be read as a part of a URL.
  const isToWrite = /^(?=.*\P{ASCII})[\p{L}\p{M}\p{N}.\u3002-]+$/u.test(domain)
  const address = isToWrite ? text.slice(0, at) + domainToASCII(domain) : text
  return address.length <= MAX_EMAIL_LENGTH && EMAIL_ADDRESS.test(address) ? address : undefined
}
