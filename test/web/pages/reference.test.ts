import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import type { OpenAPI3 } from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { findProgram } from '../../support/programs.js'
import { useService } from '../../support/service.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const ORIGIN = 'http://easel.test'
const context = useService({
  worker: true,
  env: { BASE_URL: ORIGIN, RATE_LIMIT_MAX: '50', INFERENCE_URL: 'preview:', SITE_LANGUAGES: 'en,de' },
})
const run = promisify(execFile)
let html: string
let markdown: string
let operations: { method: string; path: string; id: string; summary: string }[]

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(context.service.url + path, { headers: { accept: 'text/html', ...headers }, redirect: 'manual' })

beforeAll(async () => {
  html = await (await get('/docs')).text()
  markdown = await (await get('/docs.md')).text()
  const { paths = {} }: OpenAPI3 = await (await get('/openapi.json')).json()
  operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, { operationId: string; summary: string }>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      id: operation.operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      summary: operation.summary,
    })),
  )
})

/** The sample in the section of the heading with this ID. */
const sampleOf = (id: string, language: string): string => {
  const sample = new RegExp(` id="${id}">.*?<figure class="${language}">.*?<pre>([^<]*)<`, 's')
  return (sample.exec(html)?.[1] ?? '').replaceAll('&lt;', '<').replaceAll('&amp;', '&')
}

describe('the API reference', () => {
  it('has every operation of the OpenAPI document, on the page with samples in three languages, and in Markdown', () => {
    expect(operations.length).toBeGreaterThan(20)
    for (const { method, path, id, summary } of operations) {
      expect(html).toContain(`<h3 id="${id}"><a href="#${id}">${summary}</a></h3>`)
      expect(html).toContain(`>${method}</b> <code>${path}</code>`)
      expect(markdown).toContain(`### ${summary}\n\n\`${method} ${path}\``)
      for (const language of ['curl', 'python', 'typescript'])
        expect(sampleOf(id, language)).toMatch(new RegExp(path.replace(/\{\w+\}/, '[\\w-]+')))
    }
  })

  it('has German words around it for who reads the site in German, and marks itself as English', async () => {
    const german = await (await get('/docs', { 'accept-language': 'de' })).text()
    expect(german).toContain('<html lang="de">')
    expect(german).toContain('<h1>API-Referenz</h1>')
    expect(german).toContain('Die Referenz selbst ist auf Englisch.')
    expect(german).toMatch(/<summary>Inhalt<\/summary><nav [^>]*lang="en"/)
    expect(german).toContain('<legend class="hidden-visually" lang="de">Sprache der Beispiele</legend>')
    const textIn = (page: string) => /<div class="pages".*<\/main>/s.exec(page)?.[0].replace(/<legend.*?<\/legend>/, '')
    expect(textIn(german)).toBe(textIn(html)?.replace('class="pages"', 'class="pages" lang="en"'))
    expect(await (await get('/docs')).text()).toBe(html)
  })

  it('says of each field its type, its default, its range and whether it is required, on the page and in Markdown', () => {
    expect(html).toContain('<dt>prompt<dd><b>required </b>string · 1 to 2000 characters<dd>What to draw')
    expect(html).toMatch(/<dt>steps<dd>integer · 1 to 100 · default <code>30<\/code>/)
    expect(markdown).toContain('| `prompt` | string | required; 1 to 2000 characters. What to draw |')
    expect(markdown).toContain(
      '| `output.images[].url` | string | Permanent, and public unless its owner makes the image private |',
    )
  })

  it('has no link that leads nowhere, and no ID twice', async () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const links = [...html.matchAll(/ href="([^"]+)"/g)].map(([, href]) => href as string)
    const missing = links.filter((href) => href.startsWith('#') && !ids.includes(href.slice(1)))
    expect(missing).toEqual([])
    const inMarkdown = [...markdown.matchAll(/\]\(http:\/\/easel\.test\/docs#([^)]+)\)/g)].map(([, id]) => id)
    expect(inMarkdown.filter((id) => !ids.includes(id))).toEqual([])
    // Of other pages, those that are not behind a session.
    const paths = new Set(links.filter((href) => /^\/(?!\/)/.test(href) && href !== '/keys'))
    const statuses = await Promise.all([...paths].map(async (path) => [path, (await get(path)).status]))
    expect(statuses.filter(([, status]) => status !== 200)).toEqual([])
    expect([...paths]).toContain('/openapi.json')
  })

  it('may be indexed by search engines, links to its Markdown, and is smaller than 100 KB', async () => {
    expect(html).toContain('<link rel="alternate" type="text/markdown" href="/docs.md"/>')
    expect(html).toContain(`<link rel="canonical" href="${ORIGIN}/docs"/>`)
    expect(html).toContain('<meta name="description"')
    expect(html).not.toContain('noindex')
    const cookie = await givenSession(context.service.db, await givenUser(context.service.db))
    const signedIn = await (await get('/docs', { cookie })).text()
    expect(signedIn).toContain('<a href="/keys">create a key</a>')
    expect(Buffer.byteLength(signedIn)).toBeLessThan(100_000)
    expect((await get('/docs.md')).headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(await (await get('/llms.txt')).text()).toContain(`${ORIGIN}/docs.md`)
  })

  it.skipIf(!findProgram('curl'))('names the origin of each interface where they differ', async () => {
    const split = await context.service.server({}, { API_BASE_URL: 'http://api.easel.test' })
    const { port } = new URL(split.url)
    const { stdout } = await run('curl', ['-sS', '-H', 'Host: easel.test', `http://127.0.0.1:${port}/docs.md`])
    expect(stdout).toContain('`POST /v1/images/generate` at `http://api.easel.test`')
    expect(stdout).toContain('curl -sS http://api.easel.test/v1/images/generate \\')
    expect(stdout).toContain('curl -sS http://easel.test/api/v1/generate \\')
  })
})

/** A new folder with nothing but these files. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'easel-samples-'))
  folders.push(folder)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}
const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

/** What a program of the page prints, saved and run as it is by somebody who has a key. */
async function printed(command: string, file: string, language: string) {
  const { key } = await givenUser(context.service.db)
  const source = sampleOf('begin', language).replaceAll(ORIGIN, context.service.url)
  expect(source).toMatch(/2\.5|2500/)
  const env = { ...process.env, EASEL_KEY: key }
  const { stdout } = await run(command, [file], { cwd: await folderWith({ [file]: source }), env, timeout: 120_000 })
  return stdout
}

const hasRequests = await run('python3', ['-c', 'import requests']).then(
  () => true,
  () => false,
)
if (!hasRequests) console.log('python3 has no requests: the sample in Python is not run. Install python3-requests.')

describe.concurrent('the program at the beginning of the API reference submits, polls and prints the image’s address', () => {
  const IMAGE = /http:\/\/easel\.test\/cdn\/[\w-]{22}\.png/

  it.skipIf(!findProgram('curl'))('in curl', async ({ expect }) => {
    expect(await printed('sh', 'draw.sh', 'curl')).toMatch(IMAGE)
  })
  it.skipIf(!hasRequests)('in Python', async ({ expect }) => {
    expect(await printed('python3', 'draw.py', 'python')).toMatch(IMAGE)
  })
  it('in TypeScript', async ({ expect }) => {
    expect(await printed(process.execPath, 'draw.mjs', 'typescript')).toMatch(IMAGE)
  })
})

describe('a sample of a single request in the API reference', () => {
  it('in TypeScript is JavaScript, too, which Node runs without a build, and fits a strict TypeScript project', async () => {
    const ids = ['begin', ...operations.map(({ id }) => id)]
    const files = Object.fromEntries(ids.map((id) => [`${id}.mts`, sampleOf(id, 'typescript')]))
    for (const sample of Object.values(files))
      await transform(sample, { loader: 'js', format: 'esm', target: 'node20' })
    const folder = await folderWith(files)
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const compiler = join(ROOT, 'node_modules/@typescript/native/bin/tsc')
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--types',
      'node',
    ]
    const { stdout } = await run(process.execPath, [compiler, ...options, ...Object.keys(files)], {
      cwd: folder,
    }).catch((error) => error)
    expect(stdout).toBe('')
  })

  it.skipIf(!findProgram('curl'))('is answered with 200 by the server', async () => {
    const { key } = await givenUser(context.service.db)
    const samples = operations.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    const answers = await Promise.all(
      samples.map(async ({ id }) => {
        const source = sampleOf(id, 'curl').replaceAll(ORIGIN, context.service.url)
        const { stdout } = await run('sh', ['-c', `${source} -w '\\n%{http_code}'`], {
          env: { ...process.env, EASEL_KEY: key },
        })
        return `${id} ${stdout.split('\n').at(-1)}`
      }),
    )
    expect(answers.filter((answer) => !answer.endsWith(' 200'))).toEqual([])
    expect(answers.length).toBeGreaterThan(5)
  })
})
