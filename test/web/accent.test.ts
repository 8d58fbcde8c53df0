import { readFile } from 'node:fs/promises'
import { transform } from 'esbuild'
import { expect, it } from 'vitest'
import { paletteIn } from '../../src/web/shared/accent.js'

it('the colours that an accent is compared with are found in the sheet as the build minifies it', async () => {
  const css = await readFile(new URL('../../src/web/assets/base.css', import.meta.url), 'utf8')
  const { code } = await transform(css, { loader: 'css', minify: true })
  expect(paletteIn(css).get('paper')).toEqual({ light: '#f6f3ee', dark: '#16151a' })
  expect(paletteIn(css).size).toBeGreaterThan(12)
  expect(paletteIn(code)).toEqual(paletteIn(css))
})
