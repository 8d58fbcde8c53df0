import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { installedBytes } from './starts.js'

it('the install size counts each package that production needs and that is there, once', async () => {
  const directory = await given({
    'node_modules/a': { file: 1, 'lib/deep.js': 20 },
    'node_modules/a/node_modules/b': { file: 300 },
    'node_modules/native-here': { file: 4000 },
    'node_modules/vite': { file: 50_000 },
  })
  await lock(directory, {
    'node_modules/a': {},
    'node_modules/a/node_modules/b': {},
    'node_modules/native-here': { optional: true },
    'node_modules/native-elsewhere': { optional: true },
    'node_modules/vite': { dev: true },
  })
  expect(await installedBytes(directory)).toBe(4321)
})

it('the install size fails rather than leaving out a package that is needed', async () => {
  const directory = await given({})
  await lock(directory, { 'node_modules/a': {} })
  await expect(installedBytes(directory)).rejects.toThrow('ENOENT')
})

/** A directory with files of these sizes. */
async function given(packages: Readonly<Record<string, Readonly<Record<string, number>>>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-test-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  for (const [path, files] of Object.entries(packages))
    for (const [name, bytes] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path, name)), { recursive: true })
      await writeFile(join(directory, path, name), Buffer.alloc(bytes))
    }
  return directory
}

const lock = (directory: string, packages: object) =>
  writeFile(join(directory, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }))
