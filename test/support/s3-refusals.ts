/** What buckets, and proxies in front of them, refuse: faults of an S3Server, and which requests they are about. */
import type { IncomingMessage } from 'node:http'
import { type Fault, refuse } from './s3-server.js'

type Meant = (request: IncomingMessage) => boolean

export const refusing =
  (status: number, code: string, isMeant: Meant): Fault =>
  (request, response) => {
    if (!isMeant(request)) return 'pass'
    request.resume()
    return refuse(response, status, code)
  }

/** Names a header that begins so. */
export const names =
  (part: string): Meant =>
  ({ headers }) =>
    Object.keys(headers).some((name) => name.startsWith(part))

export const asks =
  (...methods: string[]): Meant =>
  ({ method = '' }) =>
    methods.includes(method)

export const putsMoreThan =
  (bytes: number): Meant =>
  ({ method, headers }) =>
    method === 'PUT' && Number(headers['content-length']) > bytes
