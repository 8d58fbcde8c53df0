import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { AppError } from '../../core/errors.js'
import type { PublishedImages } from '../../core/images/ports.js'
import { IMAGE_FILE, type ImageStore, PROBE_FILE, type UploadRights } from '../../core/images/ports.js'
import type { App } from '../shared/fastify-app.js'
import { validText } from '../shared/fields.js'

export interface UploadOptions {
  /** What workers show: at least 32 characters. */
  readonly secret: string
  readonly rights: UploadRights
  readonly published: PublishedImages
  readonly bucket: {
    /** Resolves to the ETag of what the upload will replace; undefined: another object is there than `replaces`. */
    reserve(file: string, replaces: string | undefined): Promise<string | undefined>
    presignPut(file: string, facts: { bytes: number; sha256: string; replaces: string }): Promise<object>
    head(file: string): Promise<{ readonly etag: string; readonly sha256: string | undefined } | undefined>
    remove(file: string): Promise<void>
  }
  readonly images: Pick<ImageStore, 'remove' | 'check'>
}

/** As Postgres has it. */
const MAX_ATTEMPT = 2 ** 31 - 1

const isProbe = (file: string) => PROBE_FILE.test(file)
const file = z.string().refine((name) => IMAGE_FILE.test(name) || isProbe(name))
const uploadBody = z.strictObject({
  /** Of the attempt that drew the image; probes have none. */
  id: z
    .string()
    .max(100)
    .refine(...validText('id'))
    .default(''),
  attempt: z.int().min(1).max(MAX_ATTEMPT).default(1),
  file,
  bytes: z
    .int()
    .positive()
    .max(64 * 1024 * 1024),
  sha256: z.base64().length(44),
  /** Of workers of the release before: what is replaced is for the server to say. */
  replaces: z.unknown().optional(),
})
const fileParams = z.strictObject({ file })

const NOT_ITS_OWN = { error: 'This attempt does not run, or the image is not its own or is published.' }

const slugOf = (name: string) => name.slice(0, name.indexOf('.'))
const hashOf = (text: string) => createHash('sha256').update(text).digest()

/** For workers without a key of the bucket, at /internal/uploads: no part of the API, and of no subscriber's limits. */
export function uploadRoutes(app: App, { secret, rights, published, bucket, images }: UploadOptions): void {
  const expected = hashOf(`Bearer ${secret}`)
  app.addHook('onRequest', (request, _reply, next) => {
    // Hashes have one length, and comparing them takes one time.
    if (timingSafeEqual(hashOf(request.headers.authorization ?? ''), expected)) return next()
    next(new AppError('unauthorized', 'This address is for workers: send their UPLOAD_SECRET.'))
  })
  // Whoever runs the worker reads it in the worker's log.
  const orAway = (cause: Error) => {
    throw new AppError('unavailable', cause.message, { retryAfterSeconds: 5 }, { cause })
  }

  app.post('/', { schema: { body: uploadBody } }, async ({ body }, reply) => {
    const { id, attempt, file, bytes, sha256 } = body
    const slug = slugOf(file)
    const mayStore = async () => isProbe(file) || (await rights.mayStore({ id, attempt }, slug))
    // Looked at first: what is stored and published from now on is no longer what the reservation may replace.
    const found = await bucket.head(file).catch(orAway)
    if (!(await mayStore())) return reply.code(409).send(NOT_ITS_OWN)
    const isThere = found?.sha256 === sha256
    const replaces = isThere ? found.etag : await bucket.reserve(file, found?.etag).catch(orAway)
    if (replaces === undefined) return reply.code(409).send({ error: 'Another upload of this image has begun.' })
    // A cancellation may have removed the files before ours was there.
    if (!isThere && !(await mayStore())) {
      if (!(await published.find(slug))) await images.remove(slug).catch(orAway)
      return reply.code(409).send(NOT_ITS_OWN)
    }
    return bucket.presignPut(file, { bytes, sha256, replaces }).catch(orAway)
  })

  app.get('/:file', { schema: { params: fileParams } }, async ({ params }) => ({
    found: (await bucket.head(params.file).catch(orAway)) ?? null,
  }))

  app.delete('/:file', { schema: { params: fileParams } }, async ({ params }, reply) => {
    if (isProbe(params.file)) {
      await bucket.remove(params.file).catch(orAway)
      return reply.code(204).send()
    }
    const slug = slugOf(params.file)
    if ((await published.find(slug))?.removed === false)
      return reply.code(409).send({ error: 'This image is published.' })
    await images.remove(slug).catch(orAway)
    return reply.code(204).send()
  })

  /** The worker then puts probes of its own. */
  app.post('/check', async () => {
    await images.check().catch(orAway)
    return { probes: true }
  })
}
