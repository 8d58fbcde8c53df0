import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Compiles src/ and test/ once, as a deployed Easel is: hundreds of processes would otherwise spend their time on
 * TypeScript. Types are not looked at; `npm run check` does that.
 * @param directory a new one, in which the scripts keep their names: `src/server.js`
 */
export async function compile(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/**/*.ts', 'src/**/*.tsx', 'test/**/*.ts'],
    outbase: '.',
    outdir: directory,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: true,
    logLevel: 'warning',
  })
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/**/*.json'],
    loader: { '.json': 'copy' },
    outbase: '.',
    outdir: directory,
  })
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  for (const name of ['migrations', 'node_modules']) await symlink(join(ROOT, name), join(directory, name))
}
