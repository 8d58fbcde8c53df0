import type { ComponentChildren } from 'preact'
import { render } from 'preact-render-to-string'

/** A whole page in the site's look, as HTML with inline style. It loads nothing but what `body` names. */
export function page(title: string, head: ComponentChildren, body: ComponentChildren): string {
  return `<!doctype html>${render(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${title} · Easel`}</title>
        {head}
        {/* A constant of this file; escaping would break it. */}
        <style dangerouslySetInnerHTML={{ __html: STYLE }} />
      </head>
      <body>
        <header>
          <span class="mark" aria-hidden="true" />
          Easel
        </header>
        {body}
      </body>
    </html>,
  )}`
}

const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f6f3ee, #16151a);
  --card: light-dark(#fffdfa, #201f26);
  --ink: light-dark(#26232b, #ece8f1);
  --quiet: light-dark(#6a6472, #a69fb2);
  --line: light-dark(#e3dcd2, #34323d);
  --accent: light-dark(#b3431f, #ff9d6e);
}
* { box-sizing: border-box; margin: 0 }
body { min-height: 100vh; display: flex; flex-direction: column; background: var(--paper); color: var(--ink);
  font: 16px/1.55 Inter, system-ui, -apple-system, "Segoe UI", sans-serif }
header { display: flex; align-items: center; gap: .6rem; padding: 1.1rem clamp(1rem, 4vw, 2.5rem); font-weight: 650; letter-spacing: .01em }
.mark { width: 1.05rem; height: 1.05rem; border-radius: 35% 65% 60% 40%; background: linear-gradient(135deg, #ffb27a, #b3431f 60%, #5b2d68) }
main { flex: 1; width: 100%; max-width: 76rem; margin: 0 auto; padding: .5rem clamp(1rem, 4vw, 2.5rem) 3rem;
  display: flex; flex-wrap: wrap; gap: clamp(1.25rem, 3vw, 2.75rem); align-items: flex-start; justify-content: center }
.frame { display: block; flex: 0 1 auto; max-width: 100%; max-height: 82vh; border-radius: 14px; overflow: hidden; background: var(--line);
  box-shadow: 0 1px 2px rgb(0 0 0 / .12), 0 18px 50px -18px rgb(0 0 0 / .45) }
.frame img { display: block; width: auto; height: auto; max-width: 100%; max-height: 82vh; object-fit: contain }
section { flex: 1 1 17rem; max-width: 24rem; background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 1.5rem }
h1 { font-size: 1.35rem; line-height: 1.25; font-weight: 680; overflow-wrap: anywhere }
dl { margin: 1.1rem 0; display: grid; gap: .1rem }
dl div { display: flex; justify-content: space-between; gap: 1rem; padding: .55rem 0; border-bottom: 1px solid var(--line) }
dt { color: var(--quiet) }
dd { text-align: right }
code { font: .95em ui-monospace, "SF Mono", Menlo, monospace }
.note { color: var(--quiet); font-size: .9rem; margin-bottom: 1.2rem }
.button { display: inline-block; padding: .6rem 1rem; border-radius: 9px; border: 1px solid var(--accent); color: var(--accent);
  text-decoration: none; font-weight: 600 }
.button:hover, .button:focus-visible { background: var(--accent); color: var(--card) }
.home section { flex: 0 1 46rem; max-width: 46rem; padding: clamp(1.5rem, 4vw, 2.75rem) } .home { align-items: center }
.home h1 { font-size: clamp(1.5rem, 4vw, 2.1rem) } .home p { margin-top: .8rem; color: var(--quiet) }
pre { margin: 1.2rem 0; padding: 1rem 1.1rem; border-radius: 10px; background: var(--paper); border: 1px solid var(--line); overflow-x: auto;
  font: .88rem/1.6 ui-monospace, "SF Mono", Menlo, monospace }
.notice { align-items: center } .notice section { flex: 0 1 26rem } .notice p { margin-top: .6rem; color: var(--quiet) }
`
