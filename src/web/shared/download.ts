import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Sends what a browser is to store under this name. */
export const sendDownload = (reply: FastifyReply, name: string, type: string, content: Buffer | Readable) =>
  reply
    .header(
      'content-disposition',
      // The first name is for programs that know ASCII only.
      `attachment; filename="${name.replace(/[^ -~]|["\\%]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name)}`,
    )
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .type(type)
    .send(content)
