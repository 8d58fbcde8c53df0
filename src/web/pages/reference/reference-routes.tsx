import { render } from 'preact-render-to-string'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sampleModelId } from '../../shared/sample-model.js'
import type { ApiDocument } from './api-document.js'
import { type Reference, referenceOf } from './reference.js'
import { ReferenceBody } from './reference-body.js'
import { referenceMarkdown } from './reference-markdown.js'
import { ReferencePage } from './reference-page.js'

/** The API reference, as a page and as Markdown; each is made when it is first asked for, and when its samples change. */
export function referenceRoutes(app: App, options: WebsiteOptions, describe: () => Promise<unknown>): void {
  const { baseUrl } = options
  const once = (show: (reference: Reference) => string) => {
    let last: { readonly modelVersionId: number; readonly text: string } | undefined
    return async () => {
      const modelVersionId = await sampleModelId(options.ports.models)
      if (last?.modelVersionId !== modelVersionId) {
        const reference = referenceOf((await describe()) as ApiDocument, { ...options, modelVersionId })
        last = { modelVersionId, text: show(reference) }
      }
      return last.text
    }
  }
  // No attribute here holds what a person wrote; in text a quote needs no escape, and there are thousands.
  const lean = (html: string) => html.replace(/>[^<>]+</g, (text) => text.replaceAll('&quot;', '"'))
  const body = once((reference) => lean(render(<ReferenceBody {...reference} />)))
  const markdown = once(referenceMarkdown)

  app.get('/docs', async ({ signedIn }, reply) =>
    sendPage(reply, <ReferencePage baseUrl={baseUrl} signedIn={signedIn} body={await body()} />),
  )
  app.get('/docs.md', async (_request, reply) =>
    reply
      .headers({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' })
      .type('text/markdown; charset=utf-8')
      .send(await markdown()),
  )
}
