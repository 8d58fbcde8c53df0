import type { FastifyReply } from 'fastify'
import type { ComponentChildren, VNode } from 'preact'
import { render } from 'preact-render-to-string'
import type { SignedIn } from '../../core/accounts/session.js'
import { ASSETS, assetUrl, defaultIcon } from '../shared/assets.js'
import { en, TextsOfPage, useTexts } from '../texts/texts.js'
import { SiteContext, SiteName, useSite } from './site-context.js'
import { SiteFooter } from './site-links.js'

interface LayoutProps {
  /** Of the tab; the page's own heading is part of its content. */
  readonly title: string
  readonly signedIn: SignedIn | null
  /** The page's address, to mark its link in the navigation. */
  readonly path: string
  /** Further elements of the head. */
  readonly head?: ComponentChildren
  /** Search engines may list it; all others are of one person, or behind a link that only some know. */
  readonly listed?: boolean
  /** The page's own style and script, files in assets/. */
  readonly style?: string | readonly string[] | undefined
  readonly script?: string | undefined
  /** What the script says. */
  readonly scriptTexts?: object | undefined
  /** Parts of the page come and go: it needs htmx. */
  readonly live?: boolean
  /** The main element's, for what only this page looks like. */
  readonly class?: string
  readonly children: ComponentChildren
}

const LINKS = [
  ['/playground', 'create'],
  ['/gallery', 'gallery'],
  ['/keys', 'keys'],
  ['/webhooks', 'webhooks'],
  ['/usage', 'usage'],
  ['/account', 'account'],
  ['/docs', 'reference'],
] as const

/** A whole page in the site's look. */
export const Layout = ({
  title,
  signedIn,
  path,
  head,
  listed = false,
  style,
  script,
  scriptTexts,
  live = false,
  children,
  ...props
}: LayoutProps) => {
  const { parts, language } = useTexts()
  const { name, mark, accentUrl } = useSite()
  const icon = mark ?? defaultIcon()
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {!listed && <meta name="robots" content="noindex" />}
        {/* The content security policy forbids the style element that htmx would add. A stream goes on in a hidden tab: one
          that was paused does not always go on when it is seen again. */}
        {live && <meta name="htmx-config" content='{"includeIndicatorCSS":false,"sse":{"pauseOnBackground":false}}' />}
        {live && <meta name="stream-worker" content={assetUrl('stream-worker.js')} />}
        <title>{`${title} · ${name}`}</title>
        <link rel="icon" type={icon.type} href={icon.url} />
        <link rel="stylesheet" href={ASSETS.style.url} />
        {[style ?? []].flat().map((sheet) => (
          <link rel="stylesheet" href={assetUrl(sheet)} />
        ))}
        {accentUrl && <link rel="stylesheet" href={accentUrl} />}
        {/* Cloudflare's Rocket Loader would load them in another way, which the policy forbids, and then no button works. */}
        {live && <script src={ASSETS.htmx.url} data-cfasync="false" defer />}
        <script src={assetUrl('easel.js')} data-cfasync="false" defer />
        {script && <script src={assetUrl(script)} data-cfasync="false" defer />}
        {head}
      </head>
      <body
        data-texts={JSON.stringify({ copy: parts.copy, ...parts.script, ...scriptTexts })}
        data-account={signedIn?.caller.account.id}
      >
        <a class="skip" href="#main">
          {parts.skip}
        </a>
        <header class="site">
          <a class="brand" href="/">
            {mark ? (
              <img class="mark" src={mark.url} width="26" height="26" alt="" />
            ) : (
              <span class="mark" aria-hidden="true" />
            )}
            <SiteName />
          </a>
          <nav aria-label={parts.navigation}>
            {(signedIn ? LINKS : LINKS.slice(-1)).map(([href, name]) => (
              <NavLink href={href} path={path}>
                {parts.links[name]}
              </NavLink>
            ))}
            {signedIn?.role === 'operator' && (
              <NavLink href="/operator" path={path}>
                {parts.links.operator}
              </NavLink>
            )}
          </nav>
          {signedIn ? (
            <div class="me">
              <a id="credits" class="credits" href="/account">
                <Credits of={signedIn.caller.account.credits} />
              </a>
              <form method="post" action="/sign-out">
                <button class="plain" type="submit">
                  {parts.signOut}
                </button>
              </form>
            </div>
          ) : (
            <div class="me">
              <a href="/sign-in">{parts.signIn}</a>
            </div>
          )}
        </header>
        <main id="main" tabindex={-1} class={props.class}>
          {children}
        </main>
        <SiteFooter />
      </body>
    </html>
  )
}

const NavLink = ({ href, path, children }: { href: string; path: string; children: ComponentChildren }) => (
  <a href={href} aria-current={path === href || path.startsWith(`${href}/`) ? 'page' : undefined}>
    {children}
  </a>
)

/** What #credits holds; fragments that change the balance send it along. */
export const Credits = ({ of: credits }: { of: number }) => {
  const { parts: words, number } = useTexts()
  return (
    <>
      <b>{number(credits)}</b> {words.credits(credits)}
    </>
  )
}

/** Sends a whole page. */
export const sendPage = (reply: FastifyReply, page: VNode) =>
  reply.type('text/html; charset=utf-8').send(`<!doctype html>${rendered(reply, page)}`)

/** Sends a part of a page, for htmx to put in its place. */
export const sendFragment = (reply: FastifyReply, fragment: VNode) =>
  reply.type('text/html; charset=utf-8').send(rendered(reply, fragment))

/** In the language of whoever asked. */
const rendered = ({ request, server }: FastifyReply, content: VNode): string =>
  render(
    <SiteContext.Provider value={server.site}>
      <TextsOfPage.Provider value={request.texts ?? en}>{content}</TextsOfPage.Provider>
    </SiteContext.Provider>,
  )
