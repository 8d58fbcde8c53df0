import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { endpointNotFound, pictureTakenDown, serviceUnavailable } from '../errors.js'
import { SLUG } from '../generation/generation.js'
import type { PictureStore } from '../generation/library/picture.js'
import type { App } from './fastify-app.js'

const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/** The pictures of file: storage, under /cdn/<slug>.png, for anyone who has the link. */
export async function cdnRoutes(app: App, root: string, pictures: PictureStore): Promise<void> {
  await app.register(fastifyStatic, {
    // No root: the plugin would refuse to start without it, and the directory may come later.
    serve: false,
    // The headers below say it all; the plugin's own would call a picture revalidatable.
    cacheControl: false,
  })
  app.get<{ Params: { file: string } }>('/cdn/:file', async (request, reply) => {
    const { file } = request.params
    // The only names that exist: nothing else reaches the file system.
    const slug = file.slice(0, -4)
    if (!file.endsWith('.png') || !SLUG.test(slug)) throw endpointNotFound(request.method, '/cdn')
    // The plugin would follow a link to wherever it leads.
    if (!(await isFile(root, file)))
      throw (await pictures.find(slug))?.removed ? pictureTakenDown() : endpointNotFound(request.method, `/cdn/${file}`)
    return reply.headers(HEADERS).sendFile(file, root)
  })
  app.setErrorHandler<FileError>((error, _request, reply) => {
    // The directory went away between the look and the reading.
    if (error.code === 'ENOTDIR' || error.code === 'EIO') throw serviceUnavailable(5, error)
    if (error.status !== 416) throw error
    // The plugin's own error; it knows the picture's size.
    return reply
      .code(416)
      .headers(error.headers ?? {})
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ error: 'The range lies beyond the end of the picture: ask for less.' }))
  })
  // A picture that is not there (removed, or not made yet) must not be cached as such for a year.
  app.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode >= 400)
      for (const name of ['cache-control', 'content-security-policy']) reply.removeHeader(name)
  })
}

interface FileError extends Error {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly code?: string
}

/** @throws AppError `unavailable` when the whole directory is away: its pictures are permanent, so 404 would be a lie */
async function isFile(root: string, file: string): Promise<boolean> {
  try {
    return (await lstat(join(root, file))).isFile()
  } catch (error) {
    const there = await lstat(root).then(
      (stats) => stats.isDirectory(),
      () => false,
    )
    if ((error as FileError).code === 'ENOENT' && there) return false
    throw serviceUnavailable(5, error)
  }
}
