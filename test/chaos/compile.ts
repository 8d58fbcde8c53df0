import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Compiles the child processes' entry points once, as a deployed Easel is: hundreds of restarts would otherwise spend
 * their time on TypeScript. Types are not looked at; `npm run check` does that.
 * @param directory empty and below node_modules, so that packages are found from there
 */
export async function compile(directory: string): Promise<{ service: string; gpus: string }> {
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  const entries = ['service-process', 'gpu-process']
  const project = join(directory, 'tsconfig.json')
  await writeFile(
    project,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        ...{ noEmit: false, noCheck: true, incremental: false, tsBuildInfoFile: null },
        ...{ rootDir: ROOT, outDir: directory, types: [] },
      },
      files: entries.map((name) => join(ROOT, `test/chaos/${name}.ts`)),
      include: [],
    }),
  )
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', project], { cwd: ROOT })
  const [service = '', gpus = ''] = entries.map((name) => join(directory, `test/chaos/${name}.js`))
  return { service, gpus }
}
