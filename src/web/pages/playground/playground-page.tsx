import type { SignedIn } from '../../../core/accounts/session.js'
import type { PastGeneration } from '../../../core/generations/history.js'
import { Layout } from '../../parts/layout.js'
import { LANGUAGES, wholePrograms } from '../../parts/samples.js'
import { type FormProps, PlaygroundForm } from './playground-form.js'
import { type Active, ActiveStage, EmptyStage, EndedStage, type ImageUrls } from './stage.js'

interface PlaygroundProps extends Omit<FormProps, 'credits' | 'running'> {
  readonly signedIn: SignedIn
  readonly active: Active | undefined
  /** The latest one, where none is active. */
  readonly ended: PastGeneration | undefined
  /** Whether anything was ever drawn. */
  readonly returning: boolean
  readonly urls: ImageUrls
  /** Of the API. */
  readonly baseUrl: string
}

/** Where images are made: the form, what comes of it, and the same request as code. */
export const PlaygroundPage = ({ signedIn, active, ended, returning, urls, baseUrl, ...form }: PlaygroundProps) => (
  <Layout
    title="Create"
    signedIn={signedIn}
    path="/playground"
    style="playground.css"
    script="playground.js"
    live
    class="playground"
    head={
      active && (
        // Browsers with scripts follow the events.
        <noscript>
          <meta http-equiv="refresh" content="3" />
        </noscript>
      )
    }
  >
    <section class="panel" aria-labelledby="title">
      <h1 id="title">Create</h1>
      <PlaygroundForm {...form} credits={signedIn.caller.account.credits} running={active !== undefined} />
    </section>
    <div class="stack">
      <section id="stage" class="stage" role="status" tabindex={-1} aria-label="Generation" aria-atomic="false">
        {active ? (
          <ActiveStage active={active} />
        ) : ended ? (
          <EndedStage of={ended} urls={urls} />
        ) : (
          <EmptyStage returning={returning} />
        )}
      </section>
      <Code baseUrl={baseUrl} />
    </div>
  </Layout>
)

/** Written by the page's script, from the form as it is. */
const Code = ({ baseUrl }: { baseUrl: string }) => (
  <section
    id="code"
    class="card code"
    aria-labelledby="code-title"
    data-samples={JSON.stringify(wholePrograms(baseUrl, '{request}'))}
    hidden
  >
    <div class="row apart">
      <h2 id="code-title">The same, as code</h2>
      <div class="row">
        <div class="tabs" role="tablist" aria-labelledby="code-title">
          {LANGUAGES.map(([language, name], n) => (
            <button
              class="plain"
              type="button"
              role="tab"
              id={`tab-${language}`}
              data-language={language}
              aria-controls="code-panel"
              aria-selected={n === 0 ? 'true' : 'false'}
              tabindex={n === 0 ? 0 : -1}
            >
              {name}
            </button>
          ))}
        </div>
        <button class="small" type="button" data-copy="#code-text">
          Copy
        </button>
      </div>
    </div>
    <pre id="code-panel" role="tabpanel" aria-labelledby="tab-curl" tabindex={0}>
      <code id="code-text" />
    </pre>
    <p class="small quiet">
      It reads your key from <code>EASEL_KEY</code>: <a href="/keys">create one</a>, or see the{' '}
      <a href="/docs">API reference</a>.
    </p>
  </section>
)
