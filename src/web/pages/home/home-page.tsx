import type { Site, SitePicture } from '../../../core/site.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { sampleModelId, submitSample } from '../../parts/samples.js'
import { useSiteText } from '../../parts/site-context.js'
import { PlanLink } from '../../parts/site-links.js'
import { assetUrl } from '../../shared/assets.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { type Texts, useTexts } from '../../texts/texts.js'

/** Three small paintings of our own, as what prompts may become. */
const drawingsIn = ({ drawings, drawingOf }: Texts['home']): readonly SitePicture[] =>
  Object.entries(drawings).map(([file, prompt]) => ({ url: assetUrl(file), alt: drawingOf(prompt), caption: prompt }))

interface HomePageProps {
  readonly baseUrl: string
  readonly modelVersionId: number
  readonly sells: boolean
  readonly signUpIsOpen: boolean
  readonly site: Site
}

/** What this is, and the first request to make. */
const HomePage = ({ baseUrl, modelVersionId, sells, signUpIsOpen, site: { name, home } }: HomePageProps) => {
  const { home: words } = useTexts()
  const readText = useSiteText()
  return (
    <Layout
      title={readText(home.headline ?? words.headline)}
      signedIn={null}
      path="/"
      listed
      class="home"
      style="home.css"
      head={
        <>
          <meta name="description" content={home.lead ? readText(home.lead) : words.description(name)} />
          <link rel="canonical" href={baseUrl} />
        </>
      }
    >
      <section class="hero">
        <div class="words">
          <h1 dir="auto">{readText(home.headline ?? words.headline)}</h1>
          <p class="lead" dir="auto">
            {readText(home.lead ?? words.lead)}
          </p>
          <p class="actions">
            {signUpIsOpen && (
              <a class="button primary" href="/sign-up">
                {words.createAccount}
              </a>
            )}
            <a class={signUpIsOpen ? 'button' : 'button primary'} href="/sign-in">
              {words.signIn}
            </a>
            <a class="button" href="/docs">
              {words.reference}
            </a>
            {sells && (
              <a class="button" href="/pricing">
                {words.prices}
              </a>
            )}
            <PlanLink button />
          </p>
        </div>
        <div class="pictures">
          {(home.pictures ?? drawingsIn(words)).map(({ url, alt, caption }) => (
            <figure>
              <img src={url} width="240" height="330" alt={readText(alt)} />
              {caption && <figcaption dir="auto">{readText(caption)}</figcaption>}
            </figure>
          ))}
        </div>
      </section>
      <section class="card program">
        <div>
          <h2>{words.program.title}</h2>
          <p class="quiet">
            {words.program.text((text) => (
              <a href="/docs#begin">{text}</a>
            ))}
          </p>
        </div>
        <pre>{submitSample(baseUrl, modelVersionId).curl}</pre>
      </section>
    </Layout>
  )
}

/** The front page; who is signed in goes on to the playground. */
export function homeRoutes(app: App, { baseUrl, ports, shop, signUpIsOpen }: WebsiteOptions): void {
  app.get('/', async ({ signedIn }, reply) => {
    if (signedIn) return reply.redirect('/playground', 303)
    const modelVersionId = await sampleModelId(ports.models)
    const props = { baseUrl, modelVersionId, sells: shop !== undefined, signUpIsOpen, site: app.site }
    return sendPage(reply, <HomePage {...props} />)
  })
}
