import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../http/fastify-app.js'

/** Beside this file; a bundle of the server lies elsewhere. */
const DIRECTORY = ['./assets/', './web/assets/', '../web/assets/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path)) as string
const { resolve } = createRequire(import.meta.url)

const own = (...files: readonly string[]) => files.map((file) => readFileSync(join(DIRECTORY, file), 'utf8')).join('\n')
const ofPackage = (file: string) => readFileSync(resolve(file), 'utf8')

const asset = (name: string, type: string, text: string) => {
  const body = Buffer.from(text)
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 12)
  // A new version has a new name, so browsers may keep each for ever.
  return { url: `/assets/${name.replace('.', `.${hash}.`)}`, type, body }
}

const script = 'text/javascript; charset=utf-8'
const files = readdirSync(DIRECTORY).sort()
// Each in its cascade layer, so that only base.css, which names the layers, must come first.
const styles = ['base.css', ...files.filter((file) => file.endsWith('.css') && file !== 'base.css')]

export const ASSETS = {
  style: asset('easel.css', 'text/css; charset=utf-8', own(...styles)),
  htmx: asset('htmx.js', script, ofPackage('htmx.org/dist/htmx.min.js')),
  htmxStreams: asset('htmx-sse.js', script, ofPackage('htmx.org/dist/ext/hx-sse.min.js')),
  icon: asset('easel.svg', 'image/svg+xml', own('easel.svg')),
}

/** By the file's name: easel.js, which every page has, and those of single pages. */
const scripts = new Map(
  files.filter((file) => file.endsWith('.js')).map((file) => [file, asset(file, script, own(file))]),
)

/** @throws Error if there is no such file in assets/ */
export function scriptUrl(file: string): string {
  const found = scripts.get(file)
  if (!found) throw new Error(`there is no ${file} in assets/`)
  return found.url
}

/** What pages load: the style, the scripts and the icon. */
export function assetRoutes(app: App): void {
  const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
  for (const { url, type, body } of [...Object.values(ASSETS), ...scripts.values()])
    app.get(url, async (_request, reply) => reply.headers(headers).type(type).send(body))
  // Browsers and other programs ask for it unasked.
  app.get('/favicon.ico', async (_request, reply) => reply.redirect(ASSETS.icon.url, 302))
}
