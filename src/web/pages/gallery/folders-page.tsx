import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import {
  createFolder,
  FAVOURITES,
  FOLDER_NAME_LENGTH,
  type Folder,
  folderNotFound,
  renameFolder,
} from '../../../core/gallery/folders.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

interface FoldersPageProps {
  readonly signedIn: SignedIn
  readonly folders: readonly Folder[]
  /** What was typed and refused, and why. */
  readonly name?: string
  readonly problem?: string
}

/** Every folder, and a new one. */
const FoldersPage = ({ signedIn, folders, name, problem }: FoldersPageProps) => {
  const { folders: words } = useTexts().gallery
  return (
    <Layout title={words.title} signedIn={signedIn} path="/gallery" class="gallery" style="gallery.css">
      <h1>{words.title}</h1>
      <Notices problem={problem} />
      <form class="row new-folder" method="post" action="/gallery/folders">
        <input
          type="text"
          name="name"
          value={name}
          placeholder={words.nameOfNew}
          aria-label={words.nameOfNew}
          maxlength={FOLDER_NAME_LENGTH}
          autocomplete="off"
          required
        />
        <button type="submit">{words.create}</button>
      </form>
      <ul class="folders all">
        {[{ id: FAVOURITES, name: `★ ${words.favourites}` }, ...folders].map((folder) => (
          <li>
            <a href={`/gallery?folder=${folder.id}`} dir="auto">
              {folder.name}
            </a>
          </li>
        ))}
      </ul>
    </Layout>
  )
}

const params = z.object({ id: z.uuid() })
const body = z.object({ name: z.string().catch('') })

/** Makes, renames and deletes folders. */
export function folderRoutes(app: App, { ports: { folders } }: WebsiteOptions): void {
  const pageOf = async (request: FastifyRequest) => {
    const signedIn = sessionOf(request)
    return { signedIn, folders: await folders.list(signedIn.caller.account.id) }
  }

  app.get('/gallery/folders', async (request, reply) => sendPage(reply, <FoldersPage {...(await pageOf(request))} />))

  app.post('/gallery/folders', { schema: { body } }, async (request, reply) => {
    const { name } = request.body
    try {
      const id = await createFolder(folders, sessionOf(request).caller.account.id, name)
      return reply.redirect(`/gallery?folder=${id}`, 303)
    } catch (error) {
      const problem = refusalMessage(error, reply)
      return sendPage(reply, <FoldersPage {...(await pageOf(request))} name={name} problem={problem} />)
    }
  })

  app.post('/gallery/folders/:id', { schema: { params: params, body } }, async (request, reply) => {
    const { id } = request.params
    await renameFolder(folders, sessionOf(request).caller.account.id, id, request.body.name)
    return reply.redirect(`/gallery?folder=${id}`, 303)
  })

  app.post('/gallery/folders/:id/delete', { schema: { params: params } }, async (request, reply) => {
    if (!(await folders.remove(sessionOf(request).caller.account.id, request.params.id))) throw folderNotFound()
    return reply.redirect('/gallery', 303)
  })
}
