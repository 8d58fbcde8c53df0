import { z } from 'zod'
import { imageFileMissing, imageNotFound } from '../../../core/errors.js'
import { imageFileName } from '../../../core/gallery/archive.js'
import { deleteSoon } from '../../../core/gallery/deletion.js'
import { FAVOURITES, type FolderStore } from '../../../core/gallery/folders.js'
import { infotextOf } from '../../../core/gallery/infotext.js'
import { SLUG } from '../../../core/images/ports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendFragment } from '../../parts/layout.js'
import { Star } from '../../parts/star.js'
import { isFragment } from '../../shared/answers.js'
import { sendDownload } from '../../shared/download.js'
import { nextPath } from '../../shared/next-path.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'

const privacyBody = z.object({ private: z.enum(['1', '']).catch('') })
const ownParams = z.object({ slug: z.string().regex(SLUG).catch('') })
const kind = z.object({ as: z.enum(['parameters', 'png', 'webp']).catch('parameters') })
const backBody = z.object({ back: nextPath.optional() }).catch({})
const foldersBody = z.object({ folder: z.union([z.array(z.string()), z.string().transform((id) => [id])]).catch([]) })

/** What an image's owner does with it. */
export function ownImageRoutes(app: App, { ports }: WebsiteOptions): void {
  const { folders, deletions, gallery, files } = ports

  app.post('/image/:slug/delete', { schema: { params: ownParams } }, async (request, reply) => {
    const deleted = await deleteSoon(deletions, sessionOf(request).caller.account.id, [request.params.slug])
    if (deleted === 0) throw imageNotFound()
    return reply.redirect('/gallery', 303)
  })

  app.post('/image/:slug/privacy', { schema: { params: ownParams, body: privacyBody } }, async (request, reply) => {
    const { slug } = request.params
    const { id } = sessionOf(request).caller.account
    if (!(await gallery.image(id, slug))) throw imageNotFound()
    await ports.privacy.set(id, [slug], request.body.private === '1')
    return reply.redirect(`/image/${slug}#privacy`, 303)
  })

  app.post('/image/:slug/revoke-links', { schema: { params: ownParams } }, async (request, reply) => {
    const { slug } = request.params
    const { id } = sessionOf(request).caller.account
    if (!(await gallery.image(id, slug))) throw imageNotFound()
    await ports.privacy.revokeLinks(id, slug)
    return reply.redirect(`/image/${slug}?revoked=#privacy`, 303)
  })

  app.get('/image/:slug/download', { schema: { params: ownParams, querystring: kind } }, async (request, reply) => {
    const own = await gallery.image(sessionOf(request).caller.account.id, request.params.slug)
    if (!own) throw imageNotFound()
    const png = await files.read(own.slug)
    if (!png) throw imageFileMissing()
    const { as } = request.query
    const bytes =
      as === 'webp' ? await files.webpOf(png) : as === 'png' ? png : files.withInfotext(png, infotextOf(own))
    const ending = as === 'webp' ? 'webp' : 'png'
    return sendDownload(reply, `${imageFileName(own)}.${ending}`, `image/${ending}`, bytes)
  })

  const star = (path: string, isFavourite: boolean, change: FolderStore['add' | 'take']) =>
    app.post(path, { schema: { params: ownParams, body: backBody } }, async (request, reply) => {
      const { slug } = request.params
      const { id } = sessionOf(request).caller.account
      if (!(await gallery.image(id, slug))) throw imageNotFound()
      await change(id, FAVOURITES, [slug])
      if (isFragment(request)) return sendFragment(reply, <Star image={{ slug, isFavourite }} />)
      return reply.redirect(request.body.back ?? `/image/${slug}`, 303)
    })
  star('/image/:slug/favourite', true, folders.add)
  star('/image/:slug/unfavourite', false, folders.take)

  // What is ticked is what it is in; the favourites are left alone.
  app.post('/image/:slug/folders', { schema: { params: ownParams, body: foldersBody } }, async (request, reply) => {
    const { slug } = request.params
    const { id } = sessionOf(request).caller.account
    if (!(await gallery.image(id, slug))) throw imageNotFound()
    const wanted = new Set(request.body.folder)
    const before = new Set(await folders.of(id, slug))
    for (const folder of await folders.list(id)) {
      if (wanted.has(folder.id) === before.has(folder.id)) continue
      await (wanted.has(folder.id) ? folders.add(id, folder.id, [slug]) : folders.take(id, folder.id, [slug]))
    }
    return reply.redirect(`/image/${slug}`, 303)
  })
}
