import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { App } from '../../http/shared/fastify-app.js'

/** Beside this file; a bundle of the server lies elsewhere. The build minifies what it copies: here nothing is shortened. */
const DIRECTORY = ['../assets/', './web/assets/', '../web/assets/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path)) as string
const { resolve } = createRequire(import.meta.url)

const own = (...files: readonly string[]) => files.map((file) => readFileSync(join(DIRECTORY, file), 'utf8')).join('\n')
const ofPackages = (...files: readonly string[]) => files.map((file) => readFileSync(resolve(file), 'utf8')).join('\n')

/** What browsers may keep for ever: a new version has a new name. Every server makes the same name of the same content. */
export interface Asset {
  readonly url: string
  readonly type: string
  readonly body: Buffer
}

/** @param name with its ending */
export const asset = (name: string, type: string, content: string | Buffer): Asset => {
  const body = Buffer.from(content)
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 12)
  return { url: `/assets/${name.replace('.', `.${hash}.`)}`, type, body }
}

export const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

export const ASSETS = {
  // Every page has it; base.css comes first, because it names the cascade layers.
  style: asset('easel.css', CSS, own('base.css', 'site.css')),
  // One file: htmx starts one turn of the event loop after it is loaded, and an extension loaded later connects no stream.
  htmx: asset(
    'htmx.js',
    SCRIPT,
    [own('streams.js', 'answers.js'), ofPackages('htmx.org/dist/htmx.min.js', 'htmx.org/dist/ext/hx-sse.min.js')].join(
      '\n',
    ),
  ),
}

const TYPES: Readonly<Record<string, string>> = { css: CSS, js: SCRIPT, svg: 'image/svg+xml' }

/** By the file's name: easel.js and easel.svg, which every page has, and the styles, scripts and drawings of single pages. */
const files = new Map(
  readdirSync(DIRECTORY)
    .filter((file) => file !== 'base.css' && file !== 'site.css')
    .flatMap((file) => {
      const type = TYPES[file.slice(file.lastIndexOf('.') + 1)]
      return type ? [[file, asset(file, type, own(file))] as const] : []
    }),
)

/** The tab's, unless the installation has one of its own. */
export const defaultIcon = () => ({ url: assetUrl('easel.svg'), type: 'image/svg+xml' })

/** @throws Error if there is no such file in assets/ */
export function assetUrl(file: string): string {
  const found = files.get(file)
  if (!found) throw new Error(`there is no ${file} in assets/`)
  return found.url
}

/** The text of a file in assets/ that is not served as it is. */
export const assetText = (file: string): string => own(file)

const takesGzip = (encodings: unknown): boolean =>
  /(?:^|[,\s])gzip\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/.test(`${encodings ?? ''}`)

/**
 * What pages load: styles, scripts, the icon and drawings.
 * @param own the installation's, which are not ours: opened by itself, an SVG runs no script and loads nothing
 */
export function assetRoutes(app: App, own: readonly Asset[], iconUrl: string): void {
  const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
  const nameOf = (url: string) => url.replace(/\.[^.]*/, '')
  const byName = new Map<string, Asset>()
  for (const asset of [...Object.values(ASSETS), ...files.values()]) {
    const { url, type, body } = asset
    byName.set(nameOf(url), asset)
    // Once, not for each request; and no page, in which secrets stand beside what others may have chosen.
    const compressed = gzipSync(body)
    app.get(url, async (request, reply) => {
      reply.headers({ ...headers, vary: 'accept-encoding' }).type(type)
      if (!takesGzip(request.headers['accept-encoding'])) return reply.send(body)
      return reply.header('content-encoding', 'gzip').send(compressed)
    })
  }
  // Of a page that another release has sent, before an upgrade or during one: ours is nearer to it than none. Nobody may keep it.
  app.get('/assets/:file', async ({ url }, reply) => {
    const asset = byName.get(nameOf(url.split('?')[0] ?? ''))
    if (!asset) return reply.callNotFound()
    return reply.header('cache-control', 'no-store').type(asset.type).send(asset.body)
  })
  const contained = {
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'x-content-type-options': 'nosniff',
  }
  for (const { url, type, body } of own)
    app.get(url, async (_request, reply) =>
      reply
        .headers({ ...headers, ...contained })
        .type(type)
        .send(body),
    )
  // Browsers and other programs ask for it unasked.
  app.get('/favicon.ico', async (_request, reply) => reply.redirect(iconUrl, 302))
}
