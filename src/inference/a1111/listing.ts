import { z } from 'zod'
import type { HttpReply, ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'

/** The valid entries of a listing; undefined where the server has no such listing. @throws BackendError */
export function listOf<T>(http: ServerHttp, reply: HttpReply, entry: z.ZodType<T>): T[] | undefined {
  if (reply.status === 404) return undefined
  return jsonReply(http.name, reply, z.array(z.unknown())).flatMap((item) => entry.safeParse(item).data ?? [])
}
