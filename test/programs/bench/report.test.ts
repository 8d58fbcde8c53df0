import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { withFigures } from './report.js'

const DOCS = new URL('../../../docs/benchmarks.md', import.meta.url)

it('puts the figures between the markers of docs/benchmarks.md, in place of those before', async () => {
  const page = await readFile(DOCS, 'utf8')
  const once = withFigures(page, '| new |')
  expect(once).toContain('<!-- figures -->\n\n| new |\n\n<!-- /figures -->')
  expect(withFigures(once, '| newer |')).toBe(once.replace('| new |', '| newer |'))
  expect(withFigures(once, '| new |').split('<!-- figures -->')[0]).toBe(page.split('<!-- figures -->')[0])
})

it('says which marker a page lacks', () => {
  expect(() => withFigures('<!-- figures --> without an end', '')).toThrow('docs/benchmarks.md needs')
})
