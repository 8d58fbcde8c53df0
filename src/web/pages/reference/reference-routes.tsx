import type { DescribeApi } from '../../../http/server/openapi.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sampleModelId } from '../../shared/sample-model.js'
import { referenceHtml } from './reference-html.js'
import { markdownFile, referenceMarkdown } from './reference-markdown.js'
import { ReferencePage } from './reference-page.js'

/** The API reference, as Markdown and as the page that is made of it, when it is first asked for and when its samples change. */
export function referenceRoutes(app: App, options: WebsiteOptions, describe: DescribeApi): void {
  const { baseUrl } = options
  let made: { readonly modelVersionId: number; readonly file: string; readonly html: string } | undefined
  const reference = async () => {
    const modelVersionId = await sampleModelId(options.ports.models)
    if (made?.modelVersionId !== modelVersionId) {
      const markdown = referenceMarkdown(await describe(), { ...options, modelVersionId })
      made = { modelVersionId, file: markdownFile(markdown, baseUrl), html: referenceHtml(markdown) }
    }
    return made
  }

  app.get('/docs', async ({ signedIn }, reply) =>
    sendPage(reply, <ReferencePage baseUrl={baseUrl} signedIn={signedIn} body={(await reference()).html} />),
  )
  app.get('/docs.md', async (_request, reply) =>
    reply
      .headers({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' })
      .type('text/markdown; charset=utf-8')
      .send((await reference()).file),
  )
}
