import { z } from 'zod'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'

const names = z.array(z.string())

/** Before ComfyUI saves an image, it reads the names of all files there: with so many it takes 10 ms. */
const MANY = 5_000

/** Easel can empty a file there, but nothing can remove it over HTTP. @throws BackendError, or the signal's reason */
export async function adviceOnFiles(http: ServerHttp, signal: AbortSignal): Promise<string[]> {
  const { status, text } = await http.get('/internal/files/temp', signal)
  // Old servers do not list them.
  const count = (status === 200 ? parsedJson(text, names) : undefined)?.length ?? 0
  if (count < MANY) return []
  return [
    `temp/ of ComfyUI holds ${count} files, which slow down each image: let a timer remove the empty ones (find … -empty -mmin +1 -delete)`,
  ]
}
