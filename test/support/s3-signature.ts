import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
export const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes)

/** Whether AWS Signature Version 4, in the Authorization header or in the URL, fits the request and this secret. */
export function isSigned(request: IncomingMessage, body: Buffer, secret: string): boolean {
  const { method = '', headers } = request
  const [path = '', search = ''] = (request.url ?? '').split('?')
  const query = new URLSearchParams(search)
  const presigned = query.has('X-Amz-Signature')
  const given = (name: string) =>
    presigned ? query.get(`X-Amz-${name}`) : new RegExp(`${name}=([^, ]+)`).exec(headers.authorization ?? '')?.[1]
  const [credential, names, signature] = [given('Credential'), given('SignedHeaders'), given('Signature')]
  if (!credential || !names || !signature) return false
  const [, date = '', region = '', service = '', kind = ''] = credential.split('/')
  const payload = presigned ? 'UNSIGNED-PAYLOAD' : String(headers['x-amz-content-sha256'])
  if (/^[0-9a-f]{64}$/.test(payload) && payload !== sha256(body).digest('hex')) return false
  const signedHeaders = names.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`)
  const parameters = search.split('&').filter((it) => it !== '' && !it.startsWith('X-Amz-Signature='))
  const canonical = [method, path, parameters.sort().join('&'), signedHeaders.join(''), names, payload].join('\n')
  const time = presigned ? query.get('X-Amz-Date') : headers['x-amz-date']
  const scope = [date, region, service, kind].join('/')
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical).digest('hex')].join('\n')
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), kind)
  return hmac(key, text).toString('hex') === signature
}
