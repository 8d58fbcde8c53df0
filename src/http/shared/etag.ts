/** Answers with an ETag, or with 304 to a client that has them already. */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { preconditionFailed } from '../../core/errors.js'
import { matches, matchesWeakly } from '../../lib/if-match.js'

type TaggedBody = ReturnType<typeof taggedBody>

/** A body as it is sent, and its strong entity tag. */
export function taggedBody(body: object) {
  const text = JSON.stringify(body)
  return { text, etag: `"${hash('sha1', text, 'base64url').slice(0, 16)}"` }
}

/** Whether the client has this body already. */
export const isKnown = ({ headers }: FastifyRequest, { etag }: TaggedBody): boolean =>
  matchesWeakly(headers['if-none-match'] ?? '', etag)

const isWanted = ({ headers: { 'if-match': tags } }: FastifyRequest, { etag }: TaggedBody): boolean =>
  tags === undefined || matches(tags, etag)

export const notModified = z.null().describe('Nothing has changed since the answer with the `ETag` of `If-None-Match`')

/** Answers with the body, or with 304 if the client has it. @throws precondition_failed if it wants another one only */
export function sendTagged(request: FastifyRequest, reply: FastifyReply, body: TaggedBody): FastifyReply {
  if (!isWanted(request, body)) throw preconditionFailed('answer')
  reply.header('etag', body.etag)
  if (isKnown(request, body)) return reply.code(304).send(null)
  return reply.type('application/json; charset=utf-8').send(body.text)
}
