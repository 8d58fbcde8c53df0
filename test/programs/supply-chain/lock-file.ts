/** The packages of package-lock.json, and what must hold for each of them. */
import { allowsVersion } from './version-range.js'

export interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
  readonly license?: string
  readonly engines?: { readonly node?: string }
  readonly optional?: boolean
  /** Needed for tests and builds alone. */
  readonly dev?: boolean
}

/** By their paths in node_modules. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** What npm may leave out and nothing here misses: a tool for building rollup itself, which vitest brings along. */
const DISPENSABLE = ['node_modules/@napi-rs/lzma-linux-x64-gnu']
const OLDEST_NODE = [20, 19, 0] as const

/** One line for each package that does not run on the oldest Node that Easel runs on. */
export const excludingNode = (packages: LockedPackages): string[] =>
  Object.entries(packages)
    .filter(([path, { optional }]) => !(optional && DISPENSABLE.includes(path)))
    .filter(([, { engines }]) => engines?.node !== undefined && !allowsVersion(engines.node, OLDEST_NODE))
    .map(([path, { engines }]) => `${path} needs Node ${engines?.node}, and Easel runs on ${OLDEST_NODE.join('.')}`)

/** Free to use, change and pass on in a closed product, too, as long as their notices are kept. */
const ALLOWED = [
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-0-Clause', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0'],
  ...['ISC', 'MIT', 'MIT-0', 'Python-2.0', 'Unlicense'],
]

/** Allowed for these packages alone. */
const ALLOWED_FOR: Readonly<Record<string, RegExp>> = {
  // libvips, a shared library of its own that anybody can replace.
  'LGPL-3.0-or-later': /^@img\/sharp-/,
  // Looks at pages in tests, is not changed, and never leaves them.
  'MPL-2.0': /^axe-core$/,
}

/** Of packages whose package.json has no `license`, after their LICENSE or README. */
const FOUND_OUT: Readonly<Record<string, string>> = {
  busboy: 'MIT',
  dicer: 'MIT',
  'humanize-number': 'MIT',
  only: 'MIT',
  streamsearch: 'MIT',
}

const licenceOf = (path: string, { license }: LockedPackage): string => license ?? FOUND_OUT[nameOf(path)] ?? 'none'

/** One line for each package whose licence nobody has allowed. */
export const withForbiddenLicence = (packages: LockedPackages): string[] =>
  Object.entries(packages)
    .filter(([path, it]) => !isAllowed(licenceOf(path, it), nameOf(path)))
    .map(([path, it]) => `${path} has the licence ${licenceOf(path, it)}: allow it in lock-file.ts, or do without it`)

/** An expression as SPDX has it, without nested parentheses: of alternatives one must be allowed, of a sum all. */
function isAllowed(expression: string, name: string): boolean {
  const bare = expression.replace(/^\((.*)\)$/, '$1')
  if (bare.includes(' OR ')) return bare.split(' OR ').some((one) => isAllowed(one, name))
  if (bare.includes(' AND ')) return bare.split(' AND ').every((one) => isAllowed(one, name))
  return ALLOWED.includes(bare) || ALLOWED_FOR[bare]?.test(name) === true
}

/** docs/licenses.md */
export function licenceList(packages: LockedPackages): string {
  const part = (heading: string, which: (it: LockedPackage) => boolean) => {
    const byLicence = new Map<string, Set<string>>()
    for (const [path, it] of Object.entries(packages)) {
      if (!which(it)) continue
      const licence = licenceOf(path, it)
      byLicence.set(licence, (byLicence.get(licence) ?? new Set()).add(`${nameOf(path)} ${it.version}`))
    }
    const lists = [...byLicence].sort(([one], [other]) => (one < other ? -1 : 1))
    return [`## ${heading}`, ...lists.map(([licence, names]) => `**${licence}**: ${[...names].sort().join(', ')}`)]
  }
  return `${[
    '# Licences of the packages that Easel uses',
    'Made by `npm run supply-chain -- --write` from package-lock.json.',
    ...part('In a running Easel', ({ dev }) => !dev),
    ...part('For tests and builds alone', ({ dev }) => dev === true),
  ].join('\n\n')}\n`
}
