import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const ASSETS = new URL('../../src/web/assets/', import.meta.url)
/** Of a page's main element, or of what only one page has: any sheet may style what is within. */
const SCOPES = /^(main\.|\.(image|gallery|operator|playground|reference|hero)\b)/

/** What the selectors of a sheet begin with, such as `.picture` or `details.act`. */
async function namesIn(file: string): Promise<string[]> {
  const css = (await readFile(new URL(file, ASSETS), 'utf8')).replace(/\/\*.*?\*\//gs, '')
  const selectors = [...css.matchAll(/([^{};]+)\{/g)].flatMap(([, list = '']) => list.split(',').map((it) => it.trim()))
  return selectors
    .filter((selector) => !SCOPES.test(selector))
    .flatMap((selector) => /^[\w-]*\.[\w.-]+/.exec(selector) ?? [])
}

it('no two style sheets of pages style the same class, so that a class looks the same on every page', async () => {
  const shared = new Set(await namesIn('base.css'))
  const pages = (await readdir(ASSETS)).filter((file) => file.endsWith('.css') && file !== 'base.css')
  const owners = new Map<string, Set<string>>()
  for (const file of pages)
    for (const name of await namesIn(file))
      if (!shared.has(name)) owners.set(name, (owners.get(name) ?? new Set()).add(file))
  expect(owners.size).toBeGreaterThan(20)
  expect([...owners].filter(([, files]) => files.size > 1)).toEqual([])
})
