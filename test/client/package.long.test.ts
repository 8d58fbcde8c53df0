import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const context = useService({ worker: true, env: { INFERENCE_URL: 'preview:' } })
const run = promisify(execFile)
const jsonOf = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const own = jsonOf(join(ROOT, 'src/client/package.json'))
/** What the package needs, with what that needs. */
const NEEDED = [...Object.keys(own.dependencies), 'openapi-typescript-helpers']

/** Both JavaScript, as Node runs it, and TypeScript. */
const PROGRAM = `import { createEasel, EaselError } from 'easel-client'

const easel = createEasel({ baseUrl: process.env.EASEL_URL ?? '', apiKey: process.env.EASEL_KEY })
const { data } = await easel.api.GET('/api/v1/models')
const seen = []
try {
  const { images } = await easel.generate(
    { prompt: 'a lighthouse at dusk', model_version_id: data?.models[0]?.id ?? 0, width: 256, height: 256 },
    { onProgress: ({ status }) => seen.push(status) },
  )
  console.log(images[0]?.url)
} catch (error) {
  console.error(error instanceof EaselError ? error.code : error)
}
`

/** Without `await` outside of a function, which older modules don't have. */
const IN_FUNCTION = `import { createEasel, EaselError, type Generated, type Progress } from 'easel-client'

export async function draw(onProgress: (progress: Progress) => void): Promise<Generated | undefined> {
  const easel = createEasel({ baseUrl: 'http://easel.test', apiKey: process.env.EASEL_KEY })
  const { data } = await easel.api.GET('/api/v1/account')
  try {
    return await easel.generate({ prompt: 'a lighthouse', model_version_id: data?.credits ?? 1 }, { onProgress })
  } catch (error) {
    if (error instanceof EaselError && error.retryAfterSeconds === undefined) return undefined
    throw error
  }
}
`

describe('the client as a package', () => {
  const project = mkdtempSync(join(tmpdir(), 'easel-project-'))
  afterAll(() => rmSync(project, { recursive: true }))

  /** An empty project, where only the packages that this one needs are there: nothing is asked of a registry. */
  beforeAll(async () => {
    for (const name of NEEDED)
      cpSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name), { recursive: true })
    const options = ['--registry', 'http://127.0.0.1:9', '--no-audit', '--no-fund', '--cache', join(project, '.npm')]
    await run('npm', ['install', ...options, `${context.service.url}/client.tgz`], { cwd: project })
    writeFileSync(join(project, 'draw.mjs'), PROGRAM)
    for (const name of ['@types/node', 'undici-types']) {
      mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
    }
  })

  const check = (program: string, ...strictness: string[]) => {
    writeFileSync(join(project, 'draw.mts'), program)
    const compiler = join(ROOT, 'node_modules/@typescript/native/bin/tsc')
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext']
    return run(process.execPath, [compiler, ...options, ...strictness, '--types', 'node', 'draw.mts'], { cwd: project })
  }

  it('is installed from the server by its address, and draws an image from a file that Node runs as it is', async () => {
    const { key } = await givenUser(context.service.db)
    const env = { ...process.env, EASEL_URL: context.service.url, EASEL_KEY: key }
    const { stdout, stderr } = await run(process.execPath, ['draw.mjs'], { cwd: project, env, timeout: 120_000 })
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^http:\S+\/cdn\/[\w-]{22}\.png\n$/), ''])
  })

  it('can be required by CommonJS, too', async () => {
    const program = `console.log(Object.keys(require('easel-client')).sort().join())`
    expect(await run(process.execPath, ['-e', program], { cwd: project })).toMatchObject({
      stdout: 'EaselError,createEasel\n',
    })
  })

  it('says in one sentence that the key is missing', async () => {
    const env = { ...process.env, EASEL_URL: context.service.url, EASEL_KEY: undefined }
    const { stderr } = await run(process.execPath, ['draw.mjs'], { cwd: project, env }).catch((error) => error)
    expect(stderr).toContain('apiKey must be a personal API key')
  })

  it('has types, by which TypeScript accepts the same file and refuses a field that is not there', async () => {
    expect((await check(PROGRAM)).stdout).toBe('')
    const { stdout } = await check(PROGRAM.replace('width:', 'breadth:')).catch((error) => error)
    expect(stdout).toContain("'breadth' does not exist")
  })

  it.each([
    ['TypeScript 5', 'commonjs', 'node10', 'es2017', 'draw.ts'],
    ['TypeScript 7', 'node16', 'node16', 'es2017', 'draw.mts'],
    ['TypeScript 7', 'node16', 'node16', 'es2020', 'draw.cts'],
    ['TypeScript 7', 'nodenext', 'nodenext', 'es2020', 'draw.mts'],
    ['TypeScript 7', 'nodenext', 'nodenext', 'esnext', 'draw.cts'],
    ['TypeScript 7', 'esnext', 'bundler', 'es2017', 'draw.ts'],
    ['TypeScript 7', 'preserve', 'bundler', 'es2020', 'draw.ts'],
  ])('has types that %s takes as module %s, resolves as in %s, for %s', async (...given) => {
    const [version, module, resolution, target, file] = given
    // The types of the package are checked, too, but not by the old compiler, which takes very long for all libraries.
    const [compiler, ...more] =
      version === 'TypeScript 5'
        ? ['node_modules/typescript/bin/tsc', '--skipLibCheck']
        : ['node_modules/@typescript/native/bin/tsc']
    writeFileSync(join(project, file), IN_FUNCTION)
    const options = ['--noEmit', '--strict', '--target', target, '--lib', target, '--types', 'node', ...more]
    const all = [...options, '--module', module, '--moduleResolution', resolution, file]
    const told = await run(process.execPath, [join(ROOT, compiler as string), ...all], { cwd: project }).catch(
      (it) => it,
    )
    expect(told.stdout).toBe('')
  })

  it.each(['docs/api.md', 'src/client/README.md'])('draws as %s shows it, also where TypeScript is strict', (file) => {
    const [, program = ''] = /```js\n(import \{ createEasel[^`]+)```/.exec(readFileSync(join(ROOT, file), 'utf8')) ?? []
    expect(program).toContain('easel.generate')
    // As `tsc --init` writes it.
    return expect(check(program, '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes')).resolves.toMatchObject({
      stdout: '',
    })
  })

  it('holds what it runs and its types and no more, and needs the packages of the repository in the same version', () => {
    const installed = join(project, 'node_modules/easel-client')
    expect(readdirSync(installed).sort()).toEqual(['README.md', 'dist', 'package.json'])
    expect(readdirSync(join(installed, 'dist')).filter((file) => !/^[a-z-]+(\.d\.c?ts|\.js)$/.test(file))).toEqual([])
    const { version, devDependencies } = jsonOf(join(ROOT, 'package.json'))
    expect(own.version).toBe(version)
    expect(devDependencies).toMatchObject(own.dependencies)
    expect(jsonOf(join(project, 'package.json')).dependencies).toEqual({
      'easel-client': `${context.service.url}/client.tgz`,
    })
  })

  it('is the same bytes as `npm pack` makes of src/client, which fit into 40 KB', async () => {
    const served = Buffer.from(await (await fetch(`${context.service.url}/client.tgz`)).arrayBuffer())
    await run('npm', ['pack', './src/client', '--pack-destination', project], { cwd: ROOT })
    expect(readFileSync(join(project, `easel-client-${own.version}.tgz`)).equals(served)).toBe(true)
    expect(served.length).toBeLessThan(40_000)
  })
})
