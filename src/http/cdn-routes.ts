import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { endpointNotFound, imageTakenDown, serviceUnavailable } from '../errors.js'
import { IMAGE_FILE } from '../generation/generation.js'
import type { PublishedImages } from '../generation/library/history.js'
import type { App } from './fastify-app.js'

const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/** The images of file: storage, under /cdn/<slug>.png, and their thumbnails, for anyone who has the link. */
export async function cdnRoutes(app: App, root: string, images: PublishedImages): Promise<void> {
  await app.register(fastifyStatic, {
    // No root: the plugin would refuse to start without the directory, which may be created later.
    serve: false,
    // HEADERS has its own cache-control: with the plugin's, clients would revalidate images.
    cacheControl: false,
  })
  app.get<{ Params: { file: string } }>('/cdn/:file', async (request, reply) => {
    const { file } = request.params
    // Only names that an image can have reach the file system.
    const slug = IMAGE_FILE.exec(file)?.[1]
    if (!slug) throw endpointNotFound(request.method, '/cdn')
    // The plugin would follow a symbolic link.
    if (!(await isFile(root, file)))
      throw (await images.find(slug))?.removed ? imageTakenDown() : endpointNotFound(request.method, `/cdn/${file}`)
    return reply.headers(HEADERS).sendFile(file, root)
  })
  app.setErrorHandler<FileError>((error, _request, reply) => {
    // The directory disappeared after it was checked.
    if (error.code === 'ENOTDIR' || error.code === 'EIO') throw serviceUnavailable(5, error)
    if (error.status !== 416) throw error
    // The plugin's own error, whose headers have the file's size.
    return reply
      .code(416)
      .headers(error.headers ?? {})
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ error: 'The range lies beyond the end of the image: ask for less.' }))
  })
  // An image that was removed or is not made yet must not be cached as missing for a year.
  app.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode >= 400) reply.removeHeader('cache-control').removeHeader('content-security-policy')
  })
}

interface FileError extends Error {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly code?: string
}

/** @throws AppError `unavailable` when the whole directory is missing: its images are permanent, so 404 would be wrong */
async function isFile(root: string, file: string): Promise<boolean> {
  try {
    return (await lstat(join(root, file))).isFile()
  } catch (error) {
    const directory = await lstat(root).catch(() => undefined)
    if ((error as FileError).code === 'ENOENT' && directory?.isDirectory()) return false
    throw serviceUnavailable(5, error)
  }
}
