import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SRC = join(ROOT, 'src')
/** Made by `npm run client-types`; absent in a fresh clone. */
const GENERATED = 'client/api.ts'

interface Import {
  readonly from: string
  /** A file of ours below src/, or a package or built-in by its name. */
  readonly to: string
  readonly ours: boolean
  /** Erased when compiled. */
  readonly typeOnly: boolean
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\.tsx?$/.test(file))
const imports: readonly Import[] = files.flatMap(importsOf)

function importsOf(from: string): Import[] {
  const found: Import[] = []
  const add = (specifier: string, typeOnly: boolean) => {
    if (!specifier.startsWith('.')) found.push({ from, to: specifier, ours: false, typeOnly })
    else found.push({ from, to: fileOf(resolve(SRC, dirname(from), specifier)), ours: true, typeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(textOf(node.moduleSpecifier), node.importClause?.isTypeOnly ?? false)
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) add(textOf(node.moduleSpecifier), node.isTypeOnly)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(textOf(node.argument.literal), true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments
      if (argument) add(textOf(argument), false)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(from, readFileSync(join(SRC, from), 'utf8'), ts.ScriptTarget.Latest))
  return found
}

function textOf(node: ts.Node): string {
  if (ts.isStringLiteralLike(node)) return node.text
  throw new Error('an import whose target is not written out')
}

function fileOf(path: string): string {
  const file = relative(SRC, path).replaceAll('\\', '/')
  const found = [file.replace(/\.js$/, '.ts'), file.replace(/\.js$/, '.tsx'), file].find(
    (name) => files.includes(name) || name === GENERATED || (name.endsWith('.json') && existsSync(join(SRC, name))),
  )
  if (!found) throw new Error(`an import of ${file}, which is not in src/`)
  return found
}

/** The folder below src/, or the file that lies there itself. */
const placeOf = (file: string): string => file.split('/', 1)[0] as string

const CORE = [
  'generation',
  'webhooks',
  'account',
  'catalog',
  'errors.ts',
  'log.ts',
  'page.ts',
  'outage.ts',
  'failpoint.ts',
  'abort-signals.ts',
  'batch.ts',
  'image-bytes.ts',
  'own-directory.ts',
  'release.ts',
  'retry-in-background.ts',
  'etag.ts',
  'text.ts',
  'tls.ts',
]
const ADAPTERS = ['db', 'redis', 'queue', 'inference', 'images', 'moderation', 'audit', 'outbound']
const ENTRIES = ['server.ts', 'worker.ts', 'cli.ts', 'local.ts']
/** What the entries are made of: here alone everything may be imported. */
const PROCESS = [
  'entry.ts',
  'config.ts',
  'config-values.ts',
  'proxy.ts',
  'command-name.ts',
  'logger.ts',
  'readiness.ts',
  'health-port.ts',
]
const STARTS = ['start-server.ts', 'start-webhooks.ts', 'start-website.ts', 'start-worker.ts', 'wiring.ts']
const WIRING = [...STARTS, ...PROCESS, 'cli', 'local']

/** Of the core's parts: what each may import besides itself. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  generation: [
    'account',
    'catalog',
    'errors.ts',
    'log.ts',
    'page.ts',
    'failpoint.ts',
    'abort-signals.ts',
    'retry-in-background.ts',
    'text.ts',
  ],
  webhooks: ['generation', 'account', 'catalog', 'errors.ts', 'log.ts', 'page.ts'],
  account: ['errors.ts', 'log.ts', 'page.ts', 'text.ts'],
  catalog: ['errors.ts'],
  'errors.ts': [],
  'log.ts': [],
  'page.ts': [],
  'outage.ts': [],
  'failpoint.ts': [],
  'abort-signals.ts': [],
  'batch.ts': [],
  'image-bytes.ts': [],
  'own-directory.ts': [],
  'etag.ts': [],
  'text.ts': [],
  'release.ts': [],
  'retry-in-background.ts': [],
  'tls.ts': [],
}

/** Imports of files in these places that are not allowed, as readable lines. */
const forbidden = (places: readonly string[], allowed: (it: Import) => boolean): string[] =>
  imports.filter((it) => places.includes(placeOf(it.from)) && !allowed(it)).map(({ from, to }) => `${from} → ${to}`)

const within = ({ from, to, ours }: Import): boolean => ours && placeOf(from) === placeOf(to)
const ofPlace = ({ to, ours }: Import, places: readonly string[]): boolean => ours && places.includes(placeOf(to))

describe('imports in src/', () => {
  it('are ruled for every folder: a new one must be named as core, adapter or wiring', () => {
    const known = [...CORE, ...ADAPTERS, ...ENTRIES, ...WIRING, 'http', 'web', 'mcp', 'tracing', 'metrics', 'client']
    expect(files.map(placeOf).filter((place) => !known.includes(place))).toEqual([])
    expect(imports.length).toBeGreaterThan(300) // the walk found something
  })

  it('lead from the core to the core and to Node’s built-ins only: to no package and no adapter', () => {
    expect(forbidden(CORE, (it) => (it.ours ? CORE.includes(placeOf(it.to)) : it.to.startsWith('node:')))).toEqual([])
  })

  it('lead down within the core: from generation to account and catalog, and from these to errors', () => {
    expect(
      forbidden(CORE, (it) => !it.ours || within(it) || BELOW[placeOf(it.from)]?.includes(placeOf(it.to)) === true),
    ).toEqual([])
  })

  it('lead from an adapter to the core and to packages, never to another adapter, except from the audit to the schema of db/', () => {
    const described = ['schema', 'process-schema', 'statement'].map((name) => `db/${name}.ts`)
    expect(
      forbidden(
        ADAPTERS,
        (it) =>
          !it.ours || within(it) || ofPlace(it, CORE) || (placeOf(it.from) === 'audit' && described.includes(it.to)),
      ),
    ).toEqual([])
  })

  it('lead from http to the core and to packages, from web, mcp, tracing and metrics also to http, and from none of them to a database', () => {
    expect(forbidden(['http'], (it) => !it.ours || within(it) || ofPlace(it, CORE))).toEqual([])
    expect(
      forbidden(['web', 'mcp', 'tracing', 'metrics'], (it) => !it.ours || within(it) || ofPlace(it, [...CORE, 'http'])),
    ).toEqual([])
    const databases = ['pg', 'drizzle-orm', 'ioredis', 'bullmq']
    expect(
      forbidden(
        ['http', 'web', 'mcp', 'tracing', 'metrics'],
        ({ to }) => !databases.some((name) => to === name || to.startsWith(`${name}/`)),
      ),
    ).toEqual([])
  })

  it('lead from the client, which runs elsewhere, to packages only, and to the client only from the one-machine demo', () => {
    expect(forbidden(['client'], (it) => within(it) || (!it.ours && !it.to.startsWith('node:')))).toEqual([])
    const users = imports.filter((it) => it.ours && placeOf(it.to) === 'client' && !within(it))
    expect([...new Set(users.map(({ from }) => placeOf(from)))]).toEqual(['local'])
  })

  it.each([
    ['tracing', /^(@opentelemetry\/|bullmq-otel$)/],
    ['metrics', /^prom-client$/],
  ])(
    'lead to the packages of %s only from its folder, which the two services load, and only on demand',
    (folder, its) => {
      expect([...new Set(imports.filter(({ to }) => its.test(to)).map(({ from }) => placeOf(from)))]).toEqual([folder])
      const door = `${folder}/open-${folder}.ts`
      const loading = imports.filter((it) => !it.typeOnly && ofPlace(it, [folder]) && !within(it))
      expect(loading.map(({ from, to }) => `${from} → ${to}`).sort()).toEqual([
        `server.ts → ${door}`,
        `worker.ts → ${door}`,
      ])
      const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
      for (const entry of ['server.ts', 'worker.ts'])
        expect(readFileSync(join(SRC, entry), 'utf8')).toContain(`() => import('./${folder}/open-${folder}.js')`)
      expect(scripts.bundle).toContain(`--external:./${folder}/open-${folder}.js`)
    },
  )

  it('never lead to an entry point, except from the child process of the one-machine stack, which becomes one', () => {
    const toEntries = imports.filter((it) => ofPlace(it, ENTRIES)).map(({ from, to }) => `${from} → ${to}`)
    expect(toEntries.sort()).toEqual(['local/child.ts → server.ts', 'local/child.ts → worker.ts'])
  })

  it('never lead in a circle', () => {
    const next = new Map(files.map((file) => [file, imports.filter((it) => it.ours && it.from === file)]))
    const done = new Set<string>()
    const circles: string[] = []
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      else if (!done.has(file)) {
        for (const { to } of next.get(file) ?? []) walk(to, [...path, file])
        done.add(file)
      }
    }
    for (const file of files) walk(file, [])
    expect(circles).toEqual([])
  })
})

describe('the files of src/', () => {
  it('are named after what they hold, in kebab-case', () => {
    const vague = /^(index|utils?|helpers?|common|types?|misc)\.tsx?$/
    const wrong = files.filter((file) => {
      const name = file.split('/').at(-1) as string
      return vague.test(name) || !/^[a-z0-9]+(-[a-z0-9]+)*\.tsx?$/.test(name)
    })
    expect(wrong).toEqual([])
  })

  it('have at most 300 lines', () => {
    const written = files.filter((file) => file !== GENERATED)
    expect(written.filter((file) => readFileSync(join(SRC, file), 'utf8').split('\n').length > 301)).toEqual([])
  })

  it('export by name only', () => {
    expect(files.filter((file) => /^export default /m.test(readFileSync(join(SRC, file), 'utf8')))).toEqual([])
  })

  it('import by the file’s name, with its suffix, and only packages that package.json lists', () => {
    const { dependencies, devDependencies, peerDependencies } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    )
    const listed = Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies })
    const packageOf = (name: string) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')
    const missing = imports.filter(
      ({ to, ours }) => !ours && !to.startsWith('node:') && !listed.includes(packageOf(to)),
    )
    expect(missing.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })
})

/** They compare dates that are stored, hours or a minute apart, with today's. */
const COMPARE_DATES = [
  'cli/user.test.ts',
  'http/openai-images.test.ts',
  'images/any-image-store.test.ts',
  'webhooks/delivery-store.test.ts',
  'worker/clock-skew.long.test.ts',
]

/** They still measure how long something takes: to be mended. */
const STILL_MEASURE = [
  'http/errors.test.ts',
  'inference/a1111/failures.test.ts',
  'inference/comfyui/cancellation.test.ts',
  'inference/sdcpp/cancel.test.ts',
  'inference/sdcpp/failures.test.ts',
]

describe('the files of test/', () => {
  const TEST = join(ROOT, 'test')
  const scripts = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.tsx?$/.test(file))

  it('with tests are in one tier by their names: long ones end in .long.test.ts, the others in .test.ts', () => {
    const tests = scripts.filter((file) => /\.(test|spec|long)\./.test(file))
    expect(tests.length).toBeGreaterThan(100) // the walk found something
    expect(tests.filter((file) => !/(^|\/)[a-z0-9-]+(\.long\.test\.ts|\.test\.tsx?)$/.test(file))).toEqual([])
    // What the two commands select.
    const { scripts: commands } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(commands.test).toMatch(/--exclude '\*\*\/\*\.long\.test\.ts'$/)
    expect(commands['test:long']).toMatch(/ \.long\.test\.ts$/)
  })

  it('that are programs by themselves have a README', () => {
    const programs = readdirSync(join(TEST, 'programs'), { withFileTypes: true }).filter((it) => it.isDirectory())
    const folders = ['stand-ins', ...programs.map(({ name }) => `programs/${name}`)]
    expect(folders.length).toBeGreaterThan(4)
    expect(folders.filter((folder) => !existsSync(join(TEST, folder, 'README.md')))).toEqual([])
  })

  it('expect nothing of the time that something takes', () => {
    const measuring = scripts.filter(
      (file) =>
        !/^(programs|support)\//.test(file) &&
        ![...COMPARE_DATES, ...STILL_MEASURE].includes(file) &&
        /\bexpect\(.*\b(performance|Date)\.now\(/.test(readFileSync(join(TEST, file), 'utf8')),
    )
    expect(measuring).toEqual([])
  })
})
