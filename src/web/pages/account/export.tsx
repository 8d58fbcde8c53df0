import type { FastifyReply, FastifyRequest } from 'fastify'
import { beginExport } from '../../../core/gallery/account-export.js'
import type { RetentionDays } from '../../../core/generations/retention.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { fileNameOf } from '../../../lib/file-name.js'
import { sendDownload } from '../../shared/download.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

/** Everything that is held on the account, in one file, and how long it is held. */
export const ExportForm = ({ kept: { prompts, images } }: { kept: RetentionDays }) => {
  const { accountExport: words } = useTexts()
  return (
    <section class="card" aria-labelledby="export-title">
      <form class="stack" method="post" action="/account/export">
        <h2 id="export-title">{words.title}</h2>
        <p class="small">{words.about}</p>
        {prompts !== undefined && <p class="small">{words.promptsKept(prompts)}</p>}
        {images !== undefined && <p class="small">{words.imagesKept(images)}</p>}
        <button type="submit">{words.download}</button>
      </form>
    </section>
  )
}

/** Sends the file while it is made. @param refused shows the account's page, and why there is no file */
export function exportRoutes(
  app: App,
  { ports }: Pick<WebsiteOptions, 'ports'>,
  refused: (request: FastifyRequest, reply: FastifyReply, error: unknown) => Promise<unknown>,
): void {
  app.post('/account/export', async (request, reply) => {
    const { caller, sessionId } = sessionOf(request)
    const { account } = caller
    const isSignedIn = async () => (await ports.sessions.list(account.id)).some(({ id }) => id === sessionId)
    try {
      const files = await beginExport(ports, account, request.texts.accountExport, isSignedIn)
      return sendDownload(
        reply,
        `easel-${fileNameOf(account.username)}.zip`,
        'application/zip',
        ports.files.zipOf(files),
      )
    } catch (error) {
      return refused(request, reply, error)
    }
  })
}
