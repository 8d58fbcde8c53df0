import type { SignedIn } from '../../../core/accounts/session.js'
import type { DescribeApi } from '../../../http/shared/api-descriptions.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { referenceHtml } from '../../parts/reference/reference-html.js'
import { fencedSamples, markdownFile, referenceMarkdown } from '../../parts/reference/reference-markdown.js'
import { firstPrograms, LANGUAGES, sampleModelId } from '../../parts/samples.js'
import { useSite } from '../../parts/site-context.js'
import { assetText } from '../../shared/assets.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { type Texts, useTexts } from '../../texts/texts.js'

interface PageProps {
  readonly baseUrl: string
  readonly signedIn: SignedIn | null
  /** `referenceHtml`: it is the same for all readers of a language. */
  readonly body: string
}

const Description = () => <meta name="description" content={useTexts().reference.description(useSite().name)} />

/** The page of the reference around its body. */
const ReferencePage = ({ baseUrl, signedIn, body }: PageProps) => {
  const { reference: words } = useTexts()
  return (
    <Layout
      title={words.title}
      signedIn={signedIn}
      path="/docs"
      listed
      style="reference.css"
      script="reference.js"
      class="reference"
      head={
        <>
          <Description />
          <link rel="canonical" href={`${baseUrl}/docs`} />
          <link rel="alternate" type="text/markdown" href="/docs.md" />
          <link rel="alternate" type="application/json" href="/openapi.json" title="OpenAPI 3.1" />
        </>
      }
    >
      <header class="stack">
        <h1>{words.title}</h1>
        <p class="lead">{words.lead}</p>
        <p class="row formats">
          <a href="/openapi.json">OpenAPI 3.1</a>
          <a href="/docs.md">Markdown</a>
          <a href="/llms.txt">llms.txt</a>
          <span class="quiet">
            {signedIn
              ? words.signedIn(<bdi>{signedIn.caller.account.username}</bdi>, (text) => <a href="/keys">{text}</a>)
              : words.signIn((text) => <a href="/sign-in?next=%2Fkeys">{text}</a>)}
          </span>
        </p>
      </header>
      {/* Rendered once for each language. */}
      <div class="whole" dangerouslySetInnerHTML={{ __html: body }} />
    </Layout>
  )
}

const ALL = LANGUAGES.map(([language]) => language)
const IDS = {
  Generations: 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x',
  Images: 'Zk3vQ9xT1bN7mR4wY8cL2s',
  Webhooks: 'whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5',
  'Create Image': 'noobai-xl',
}
const VALUES = { prompt: 'a lighthouse at dusk', url: 'https://example.com/easel' }

/** Of the reference, when a language first asks for it. */
function htmlOf(markdown: string): (texts: Texts) => string {
  const made = new Map<string, string>()
  return (texts) => {
    const html = made.get(texts.language) ?? referenceHtml(markdown, texts)
    made.set(texts.language, html)
    return html
  }
}

/** The API reference, as Markdown and as the page that is made of it, when it is first asked for and when its samples change. */
export function referenceRoutes(app: App, options: WebsiteOptions, describe: DescribeApi): void {
  const { baseUrl, apiBaseUrl, rateLimit } = options
  let made:
    | { readonly modelVersionId: number; readonly file: string; readonly html: (texts: Texts) => string }
    | undefined
  const reference = async () => {
    const modelVersionId = await sampleModelId(options.ports.models)
    if (made?.modelVersionId !== modelVersionId) {
      const markdown = referenceMarkdown(await describe(), {
        baseUrl,
        chapters: assetText('reference.md'),
        facts: {
          programs: fencedSamples(firstPrograms(baseUrl, modelVersionId), ALL),
          api_base_url: apiBaseUrl,
          max_requests: rateLimit.max,
          window_seconds: rateLimit.windowSeconds,
        },
        samples: { languages: ALL, ids: IDS, values: { ...VALUES, model_version_id: modelVersionId } },
      })
      made = { modelVersionId, file: markdownFile(markdown, baseUrl), html: htmlOf(markdown) }
    }
    return made
  }

  app.get('/docs', async ({ signedIn, texts }, reply) => {
    const body = (await reference()).html(texts)
    return sendPage(reply, <ReferencePage {...{ baseUrl, signedIn, body }} />)
  })
  app.get('/docs.md', async (_request, reply) =>
    reply
      .headers({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' })
      .type('text/markdown; charset=utf-8')
      .send((await reference()).file),
  )
}
