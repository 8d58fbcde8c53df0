/**
 * An S3-compatible store: s3rver, and in front of it what a real store does and s3rver doesn't. Signatures and checksums
 * are checked, conditional puts are, and an object is replaced as a whole.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import S3rver from '@20minutes/s3rver'
import { isSigned, sha256 } from './s3-signature.js'

/** s3rver knows no other; the secret is ours, so signatures are checked here and not there. */
const KEY_ID = 'S3RVER'
export const S3_SECRET = 'the secret of the key S3RVER'

/** Answers or breaks a request itself, or lets it pass. */
export type Handled = 'handled' | 'pass'
export type Fault = (request: IncomingMessage, response: ServerResponse) => Handled | Promise<Handled>

export interface S3Server {
  readonly endpoint: string
  /** The variables of a process that keeps its images there, in a bucket that is made. */
  env(bucket: string): Promise<Record<string, string>>
  /** Method and path of what was asked, in order. */
  readonly seen: string[]
  /** What requests meet before anything else. */
  fault: Fault | undefined
  /** False: HEAD tells no checksum, as of a store that keeps none. */
  keepsChecksums: boolean
  /** False: puts are not conditional, whatever they say. */
  knowsConditions: boolean
  /** True: as to a key without the right to list, what is not there is answered as if it were forbidden. */
  hidesMissing: boolean
  close(): Promise<void>
}

/** Refuses as S3 does. */
export function refuse(response: ServerResponse, status: number, code: string, message = 'no'): 'handled' {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`)
  return 'handled'
}

export async function startS3(directory: string): Promise<S3Server> {
  const s3rver = new S3rver({ directory, silent: true, configureBuckets: [], allowMismatchedSignatures: true })
  const { store } = s3rver
  const bodies = new WeakMap<object, Buffer>()
  /** By path: the ETag, and the checksum that the put named. */
  const kept = new Map<string, { etag: string; checksum: string | undefined }>()

  // In one turn, so that nobody meets half an object.
  store.putObject = async ({ bucket, key, content, metadata }) => {
    const { headers } = content as IncomingMessage
    const bytes = bodies.get(content as object) as Buffer
    const md5 = createHash('md5').update(bytes).digest('hex')
    const path = store.getResourcePath(bucket, key, 'object')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.new`, bytes)
    renameSync(`${path}.new`, path)
    writeFileSync(`${path}.md5`, md5)
    kept.set(`/${bucket}/${key}`, {
      etag: `"${md5}"`,
      checksum: headers['x-amz-checksum-sha256'] as string | undefined,
    })
    await store.putMetadata(bucket, key, metadata, md5)
    return { md5, size: bytes.length }
  }
  const { deleteObject } = store
  store.deleteObject = (bucket, key) => {
    kept.delete(`/${bucket}/${key}`)
    return deleteObject.call(store, bucket, key)
  }

  const serve = s3rver.callback()
  const server = createServer(async (request, response) => {
    const path = (request.url ?? '').split('?')[0] as string
    it.seen.push(`${request.method} ${path}`)
    if ((await it.fault?.(request, response)) === 'handled') return
    const body = await buffer(request).catch(() => undefined)
    if (!body) return // its sender has gone: nothing is stored
    bodies.set(request, body)
    const { headers } = request
    if (!isSigned(request, body, S3_SECRET)) return refuse(response, 403, 'SignatureDoesNotMatch')
    if (it.hidesMissing && /^(GET|HEAD)$/.test(request.method ?? '') && !kept.has(path))
      return refuse(response, 403, 'AccessDenied')
    if (request.method === 'PUT') {
      const checksum = headers['x-amz-checksum-sha256']
      if (checksum !== undefined && checksum !== sha256(body).digest('base64'))
        return refuse(response, 400, 'BadDigest')
      const there = kept.get(path)
      const isMet = !(headers['if-none-match'] && there) && [undefined, there?.etag].includes(headers['if-match'])
      if (it.knowsConditions && !isMet) return refuse(response, 412, 'PreconditionFailed')
    }
    const checksum = kept.get(path)?.checksum
    if (request.method === 'HEAD' && it.keepsChecksums && checksum && headers['x-amz-checksum-mode'] === 'ENABLED')
      response.setHeader('x-amz-checksum-sha256', checksum)
    serve(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const it: S3Server = {
    endpoint,
    async env(bucket) {
      await store.putBucket(bucket)
      return {
        STORAGE_URL: `s3://${bucket}/images`,
        S3_ENDPOINT: endpoint,
        S3_ACCESS_KEY_ID: KEY_ID,
        S3_SECRET_ACCESS_KEY: S3_SECRET,
      }
    },
    seen: [],
    fault: undefined,
    keepsChecksums: true,
    knowsConditions: true,
    hidesMissing: false,
    async close() {
      server.closeAllConnections()
      server.close()
      s3rver.logger.exceptions.unhandle()
      s3rver.logger.close()
    },
  }
  return it
}
