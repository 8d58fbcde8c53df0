import type { SignedIn } from '../../../core/accounts/session.js'
import type { Hold } from '../../../core/generations/follow/hold.js'
import type { PastGeneration } from '../../../core/generations/history.js'
import { goesOn } from '../../../core/up-next/up-next.js'
import { Layout } from '../../parts/layout.js'
import { LANGUAGES, wholePrograms } from '../../parts/samples.js'
import { useTexts } from '../../texts/texts.js'
import { HoldAhead } from './hold.js'
import { type FormProps, PlaygroundForm } from './playground-form.js'
import { SavedSettingsBlock, type SettingsProps } from './saved-settings.js'
import { type Active, ActiveStage, EmptyStage, type ImageUrls, Result } from './stage.js'
import { Strip } from './strip.js'
import { UpNextList, type UpNextView } from './up-next.js'

interface PlaygroundProps extends Omit<FormProps, 'accountId' | 'generate'> {
  readonly signedIn: SignedIn
  readonly active: Active | undefined
  readonly upNext: UpNextView
  readonly saved: SettingsProps['saved']
  readonly settings?: Omit<SettingsProps, 'saved'> | undefined
  /** The latest one, where none is active. */
  readonly ended: PastGeneration | undefined
  /** What succeeded of late, newest first. */
  readonly recent: readonly PastGeneration[]
  /** Whether anything was ever drawn. */
  readonly returning: boolean
  readonly urls: ImageUrls
  /** Why nothing would start with the chosen model. */
  readonly hold: Hold | undefined
  /** Of the API. */
  readonly baseUrl: string
}

/** Where images are made: the form, what comes of it, and the same request as code. */
export const PlaygroundPage = ({
  signedIn,
  active,
  upNext,
  saved,
  settings,
  ended,
  recent,
  returning,
  urls,
  hold,
  baseUrl,
  ...form
}: PlaygroundProps) => {
  const words = useTexts().playground
  return (
    <Layout
      title={words.title}
      signedIn={signedIn}
      path="/playground"
      style="playground.css"
      script="playground.js"
      scriptTexts={words.script}
      live
      class="playground"
      head={
        (active || goesOn(upNext)) &&
        form.plain && (
          // Browsers with scripts follow the events.
          <noscript>
            <meta http-equiv="refresh" content="3" />
          </noscript>
        )
      }
    >
      <section class="panel" aria-labelledby="title">
        <h1 id="title">{words.title}</h1>
        <HoldAhead of={hold} />
        {(active || goesOn(upNext)) && (
          <noscript>
            <p class="hint small">
              {form.plain ? (
                <>
                  {words.reloads} <a href="/playground?write=1">{words.stopReloading}</a>
                </>
              ) : (
                <a href="/playground">{words.seeProgress}</a>
              )}
            </p>
          </noscript>
        )}
        <PlaygroundForm
          {...form}
          accountId={signedIn.caller.account.id}
          generate={{ running: active !== undefined, held: signedIn.caller.account.credits, upNext }}
        />
        <section id="saved-settings" class="stack" aria-labelledby="settings-title">
          <SavedSettingsBlock saved={saved} {...settings} />
        </section>
      </section>
      <div class="stack">
        <section
          id="stage"
          class="stage"
          role="status"
          tabindex={-1}
          aria-label={words.stage.label}
          aria-atomic="false"
        >
          {active ? (
            <ActiveStage active={active} />
          ) : ended ? (
            <Result of={ended} recent={recent} urls={urls} />
          ) : (
            <EmptyStage returning={returning} />
          )}
        </section>
        <section id="up-next">
          <UpNextList upNext={upNext} running={active !== undefined} />
        </section>
        <section id="strip">
          <Strip of={recent} urls={urls} />
        </section>
        <Code baseUrl={baseUrl} />
      </div>
    </Layout>
  )
}

/** Written by the page's script, from the form as it is. */
const Code = ({ baseUrl }: { baseUrl: string }) => {
  const words = useTexts().playground.code
  return (
    <section
      id="code"
      class="card code"
      aria-labelledby="code-title"
      data-samples={JSON.stringify(wholePrograms(baseUrl, '{request}'))}
      hidden
    >
      <details>
        <summary>
          <h2 id="code-title">{words.title}</h2>
        </summary>
        <div class="row apart">
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
            {words.copy}
          </button>
        </div>
        <pre id="code-panel" role="tabpanel" aria-labelledby="tab-curl" tabindex={0}>
          <code id="code-text" />
        </pre>
        <p class="small quiet">
          {words.about(
            <code>EASEL_KEY</code>,
            (text) => (
              <a href="/keys">{text}</a>
            ),
            (text) => (
              <a href="/docs">{text}</a>
            ),
          )}
        </p>
      </details>
    </section>
  )
}
