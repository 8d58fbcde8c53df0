import { Readable } from 'node:stream'
import fastifyStatic from '@fastify/static'
import { endpointNotFound, imageTakenDown, preconditionFailed, serviceUnavailable } from '../../core/errors.js'
import type { HiddenImages } from '../../core/images/hidden-images.js'
import type { FileRequest, OpenPublicFile, PublishedImage, PublishedImages } from '../../core/images/ports.js'
import { IMAGE_FILE } from '../../core/images/ports.js'
import type { App } from '../shared/fastify-app.js'
import { isShown, type PrivateImages, untilNothingIsTold } from '../shared/private-images.js'

const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/**
 * What a cache may tell answers apart by, besides the URL: it would keep a copy for each value, and only the one without any of them
 * is purged. The answer is the same for each, so a browser may keep it.
 */
const KEPT_APART_BY = ['origin', 'range', 'cookie', 'authorization']
const APART_HEADERS = { ...HEADERS, 'cache-control': 'private, max-age=31536000, immutable' }

/** Under another URL than its own, with a query or escaped letters: a CDN keeps that apart, and only the own one is purged. */
const UNKEPT_HEADERS = { ...HEADERS, 'cache-control': 'private, no-store' }

/** Of an image that not everybody may see, or whose files are still on their way: nobody else may keep it or show it. */
const PRIVATE_HEADERS = {
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  vary: 'cookie',
}

/** The only ranges that object stores know, too. Others, and those with a condition, get the whole image. */
const ONE_RANGE = /^bytes=(?:\d+-\d*|-\d+)$/

const isThumbnail = (name: string) => name.endsWith('.webp')

/** Whether the store should have the file. */
const isKept = (name: string, image: PublishedImage | undefined): boolean =>
  image !== undefined && !image.removed && (image.hasThumbnail || !isThumbnail(name))

interface CdnOptions {
  /** Of what anybody may see. */
  readonly open: OpenPublicFile
  readonly images: PublishedImages
  readonly hidden: Pick<HiddenImages, 'isHidden'>
  readonly privateImages: PrivateImages
}

/** The images, under /cdn/<slug>.png, and their thumbnails, for anyone who has the link; private ones for some. */
export async function cdnRoutes(app: App, { open, images, hidden, privateImages }: CdnOptions): Promise<void> {
  await app.register(fastifyStatic, {
    // No root: the plugin would refuse to start without the directory, which may be created later.
    serve: false,
    // HEADERS has its own cache-control: with the plugin's, clients would revalidate images.
    cacheControl: false,
  })
  app.get<{ Params: { file: string }; Querystring: { download?: unknown } }>('/cdn/:file', async (request, reply) => {
    const { method, headers } = request
    const { file: name } = request.params
    // Only names that an image can have reach the store.
    const slug = IMAGE_FILE.exec(name)?.[1]
    if (!slug) throw endpointNotFound(method, '/cdn')
    const range = headers['if-range'] === undefined && ONE_RANGE.test(headers.range ?? '') ? headers.range : undefined
    const asked: FileRequest = {
      ...{ name, head: method === 'HEAD', range },
      ...{ ifMatch: headers['if-match'], ifUnmodifiedSince: headers['if-unmodified-since'] },
      ...{ ifNoneMatch: headers['if-none-match'], ifModifiedSince: headers['if-modified-since'] },
    }
    const publicHeaders = () => {
      if (request.raw.url !== `/cdn/${name}`) return UNKEPT_HEADERS
      return KEPT_APART_BY.some((it) => headers[it] !== undefined) ? APART_HEADERS : HEADERS
    }
    let fault: unknown
    const openAt = (place: OpenPublicFile) =>
      place(asked).catch((error) => {
        fault ??= error
      })
    /** To others a private one is like one that there never was. */
    const findFor = async () => {
      const image = await images.find(slug)
      if (await isShown(privateImages, request, image)) return image as PublishedImage
      // One that there is not has been looked for in the store by now.
      const unseen = isHidden && (await openAt(open))
      if (unseen && 'body' in unseen) unseen.body?.destroy()
      await untilNothingIsTold(request, reply)
      throw endpointNotFound(method, `/cdn/${name}`)
    }
    // Before its file is opened, which may be at its public address for a while.
    const isHidden = await hidden.isHidden(slug)
    let image = isHidden ? await findFor() : undefined
    if (image?.removed) throw imageTakenDown()
    let sent: Readonly<Record<string, string>> = isHidden ? PRIVATE_HEADERS : publicHeaders()
    // In this order a file that leaves its public address meanwhile is found: it is copied before it is removed.
    let found = await openAt(open)
    if (!found) {
      image ??= await findFor()
      // Also that of one that has just become public again.
      if (isKept(name, image)) {
        sent = PRIVATE_HEADERS
        found = await openAt(privateImages.open)
      }
      // Some stores forbid what is not there. What Postgres knows must not become a 404: the key may have lost a right.
      if (!found && fault !== undefined && isKept(name, image)) throw serviceUnavailable(5, fault)
      if (!found) throw image?.removed ? imageTakenDown() : endpointNotFound(method, `/cdn/${name}`)
    }
    // Of another host, or of the store itself, a browser would show it instead.
    if (request.query.download !== undefined) reply.header('content-disposition', `attachment; filename="${name}"`)
    if ('directory' in found) return reply.headers(sent).sendFile(name, found.directory)
    if (found.status === 412) throw preconditionFailed('image')
    if (found.status === 416) throw Object.assign(new Error('beyond the end'), found)
    reply.code(found.status).headers({ ...sent, ...found.headers })
    if (found.status === 304) return reply.send()
    // Not what the store says: it may be a page there.
    return reply.type(isThumbnail(name) ? 'image/webp' : 'image/png').send(found.body ?? Readable.from([]))
  })
  app.setErrorHandler<FileError>((error, _request, reply) => {
    // The directory disappeared after it was checked.
    if (error.code === 'ENOTDIR' || error.code === 'EIO') throw serviceUnavailable(5, error)
    if (error.status === 412) throw preconditionFailed('image')
    if (error.status !== 416) throw error
    // The headers, of the plugin's error too, have the file's size.
    return reply
      .code(416)
      .headers(error.headers ?? {})
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ error: 'The range lies beyond the end of the image: ask for less.' }))
  })
  // What is not there may come, also for one of those who ask: nobody may keep it as missing.
  app.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode >= 400) reply.header('cache-control', 'no-store').removeHeader('content-security-policy')
  })
}

interface FileError extends Error {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly code?: string
}
