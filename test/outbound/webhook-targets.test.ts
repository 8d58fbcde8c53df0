import { describe, expect, it } from 'vitest'
import { secondsIn } from '../../src/outbound/webhook-sender.js'
import { addressPolicy, webhookTargets } from '../../src/outbound/webhook-targets.js'

const strict = webhookTargets({ policy: addressPolicy([]), allowHttp: false })
const refusalOf = (url: string, targets = strict): string | undefined => {
  try {
    targets.require(url, 'url')
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('the address of a webhook', () => {
  it.each([
    'https://example.com/hook?x=1',
    'https://example.com:8443/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://bücher.example.com/',
  ])('may be public: %s', (url) => {
    expect(refusalOf(url)).toBeUndefined()
  })

  it.each([
    ...['127.0.0.1', '127.1', '0x7f.1', '2130706433', '017700000001', '127.0.0.1.', '①②⑦.0.0.1', '0', '0.0.0.0'],
    ...['10.1.2.3', '172.16.0.1', '192.168.0.1', '100.64.0.1', '100.100.100.200', '169.254.169.254', '168.63.129.16'],
    ...['224.0.0.1', '255.255.255.255', '240.0.0.1', '192.0.2.1', '198.18.0.1', '192.88.99.1'],
    ...[
      '[::]',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
      '[fe80::1]',
      '[fc00::1]',
      '[fec0::1]',
    ],
    ...['[fd00:ec2::254]', '[ff02::1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::1]', '[2002:7f00:1::]', '[2001::1]'],
    ...['localhost', 'LOCALHOST.', 'a.localhost', 'redis', 'metadata.google.internal', 'printer.local', 'ｌocalhost'],
  ])('may not be inside: %s', (host) => {
    expect(refusalOf(`https://${host}/`)).toBe('url must point to a public address: this one is inside a network.')
  })

  it.each([
    ['http://example.com/', 'url must be a URL that begins with https://.'],
    ['file:///etc/passwd', 'url must be a URL that begins with https://.'],
    ['//example.com', 'url must be a URL that begins with https://.'],
    ['https://', 'url must be a URL that begins with https://.'],
    ['https://user:pass@example.com/', 'url must not hold a user or a password: put a secret into its path or query.'],
    ['https://example.com:22/', 'url must use port 443, 80, or one from 1024 up.'],
    [`https://example.com/${'x'.repeat(2048)}`, 'url must have at most 2048 characters.'],
  ])('is refused with a sentence: %s', (url, sentence) => {
    expect(refusalOf(url)).toBe(sentence)
  })

  it('may be in a network that the operator allows, and in no other private one', () => {
    const inside = webhookTargets({ policy: addressPolicy(['10.1.0.0/16', 'fd00::5']), allowHttp: true })
    for (const url of ['http://10.1.2.3/', 'http://[fd00::5]/', 'https://receiver.internal/', 'http://8.8.8.8/'])
      expect(refusalOf(url, inside), url).toBeUndefined()
    for (const url of ['http://10.2.2.3/', 'http://[fd00::6]/', 'http://[::ffff:10.1.2.3]/', 'http://127.0.0.1/'])
      expect(refusalOf(url, inside), url).toMatch(/public address/)
  })
})

describe('Retry-After', () => {
  it('is seconds or a date', () => {
    expect(secondsIn('120')).toBe(120)
    expect(secondsIn('Sat, 21 Nov 2026 15:00:10 GMT', Date.parse('2026-11-21T15:00:00Z'))).toBe(10)
    expect(secondsIn('Sat, 21 Nov 2026 14:00:10 GMT', Date.parse('2026-11-21T15:00:00Z'))).toBe(0)
    for (const value of ['soon', undefined, ['1', '2']]) expect(secondsIn(value)).toBeUndefined()
  })
})
