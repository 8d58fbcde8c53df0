import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/**
 * Sends what a browser is to store under this name. What is made while it is read, such as a ZIP, passes through nginx without being kept:
 * once that has kept 1 GB it reads no further until a slow reader has taken it all, and an answer that nobody reads is ended.
 */
export const sendDownload = (reply: FastifyReply, name: string, type: string, content: Buffer | Readable) =>
  reply
    .headers(Buffer.isBuffer(content) ? {} : { 'x-accel-buffering': 'no' })
    .header(
      'content-disposition',
      // The first name is for programs that know ASCII only.
      `attachment; filename="${name.replace(/[^ -~]|["\\%]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name)}`,
    )
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .type(type)
    .send(content)
