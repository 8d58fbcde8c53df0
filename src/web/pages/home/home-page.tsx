import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { sampleModelId, submitSample } from '../../parts/samples.js'
import { assetUrl } from '../../shared/assets.js'
import type { WebsiteOptions } from '../../shared/ports.js'

const DESCRIPTION = 'Easel generates images from text prompts, in the browser or over HTTP.'

/** Three small paintings of our own, as what prompts may become. */
const DRAWINGS = [
  ['lighthouse.svg', 'a lighthouse at dusk'],
  ['castle.svg', 'a castle in the snow'],
  ['balloons.svg', 'balloons at dawn'],
] as const

interface HomePageProps {
  readonly baseUrl: string
  readonly modelVersionId: number
  readonly sells: boolean
}

/** What this is, and the first request to make. */
const HomePage = ({ baseUrl, modelVersionId, sells }: HomePageProps) => (
  <Layout
    title="Images from words"
    signedIn={null}
    path="/"
    listed
    class="home"
    style="home.css"
    head={
      <>
        <meta name="description" content={DESCRIPTION} />
        <link rel="canonical" href={baseUrl} />
      </>
    }
  >
    <section class="hero">
      <div class="words">
        <h1>Images from words</h1>
        <p class="lead">Write what you want to see. Watch it being drawn. Keep the link: it is permanent.</p>
        <p class="actions">
          <a class="button primary" href="/sign-in">
            Sign in
          </a>
          <a class="button" href="/docs">
            Read the API reference
          </a>
          {sells && (
            <a class="button" href="/pricing">
              See the prices
            </a>
          )}
        </p>
      </div>
      <div class="pictures">
        {DRAWINGS.map(([file, prompt]) => (
          <figure>
            <img src={assetUrl(file)} width="240" height="330" alt={`A drawing of ${prompt}`} />
            <figcaption>{prompt}</figcaption>
          </figure>
        ))}
      </div>
    </section>
    <section class="card program">
      <div>
        <h2>The same, from your own program</h2>
        <p class="quiet">
          One request submits a prompt. Poll it, listen to it, or let a webhook tell you: the{' '}
          <a href="/docs#begin">whole program</a> is in curl, Python and TypeScript.
        </p>
      </div>
      <pre>{submitSample(baseUrl, modelVersionId).curl}</pre>
    </section>
  </Layout>
)

/** The front page; who is signed in goes on to the playground. */
export function homeRoutes(app: App, { baseUrl, ports, shop }: WebsiteOptions): void {
  app.get('/', async ({ signedIn }, reply) => {
    if (signedIn) return reply.redirect('/playground', 303)
    const modelVersionId = await sampleModelId(ports.models)
    return sendPage(reply, <HomePage baseUrl={baseUrl} modelVersionId={modelVersionId} sells={shop !== undefined} />)
  })
}
