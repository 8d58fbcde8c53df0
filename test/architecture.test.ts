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

/**
 * The rows of the table "The folders" of docs/architecture.md: a folder, and what its files may import besides each other.
 * `a/` is a folder with all below it that has no row of its own, `a/*.ts` only the files directly in it, and `a/*\/` each
 * folder in it for itself.
 */
interface Row {
  readonly folders: readonly RegExp[]
  /** undefined: everything. */
  readonly imports: readonly RegExp[] | undefined
}
const DOCUMENT = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
const [, BELOW_HEADING = ''] = DOCUMENT.split('## The folders\n')
const TABLE: readonly Row[] = BELOW_HEADING.replace(/\n## [\s\S]*/, '')
  .split('\n')
  .map((line) => line.split('|'))
  .filter(([, folders, , imports]) => imports !== undefined && folders?.startsWith(' `'))
  .map(([, folders = '', , imports = '']) => ({
    folders: patterns(folders),
    imports: imports.trim() === 'everything' ? undefined : patterns(imports),
  }))

function patterns(cell: string): RegExp[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => {
    const pattern = path.replaceAll('.', '\\.').replace('/*/', '/[^/]+/').replace('*', '[^/]+')
    return new RegExp(`^(${pattern.endsWith('/') ? pattern : `${pattern}x?$`})`)
  })
}

/** The row of a file, and which of that row's folders it is in: the longest that fits. */
function rowOf(file: string): { readonly row: Row; readonly folder: string } | undefined {
  const found = TABLE.flatMap((row) => row.folders.map((it) => ({ row, match: it.exec(file)?.[1] })))
    .filter(({ match }) => match !== undefined)
    .sort((a, b) => (b.match as string).length - (a.match as string).length)[0]
  if (!found) return undefined
  const match = found.match as string
  return { row: found.row, folder: match.endsWith('/') ? match : `${dirname(match)}/*` }
}

/** The folder below src/, or the file that lies there itself. */
const placeOf = (file: string): string => file.split('/', 1)[0] as string
const within = ({ from, to, ours }: Import): boolean => ours && placeOf(from) === placeOf(to)
const places = (...names: readonly string[]) => imports.filter(({ from }) => names.includes(placeOf(from)))
const lines = (found: readonly Import[]) => found.map(({ from, to }) => `${from} → ${to}`)

describe('imports in src/', () => {
  it('are in the table of docs/architecture.md, which has a row for every file', () => {
    expect(TABLE.length).toBeGreaterThan(20) // it was found
    expect(imports.length).toBeGreaterThan(300)
    expect(files.filter((file) => !rowOf(file))).toEqual([])
    const wrong = imports.filter(({ from, to, ours }) => {
      const { row, folder } = rowOf(from) as { row: Row; folder: string }
      if (!ours || row.imports === undefined || rowOf(to)?.folder === folder) return false
      return !row.imports.some((it) => it.test(to))
    })
    expect(lines(wrong)).toEqual([])
  })

  it('lead down that table only', () => {
    const rowsOf = (paths: readonly RegExp[]) =>
      new Set(
        files.filter((file) => paths.some((it) => it.test(file))).map((file) => TABLE.indexOf(rowOf(file)?.row as Row)),
      )
    const upward = TABLE.flatMap((row, at) =>
      [...rowsOf(row.imports ?? [])].filter((below) => below > at).map((below) => `row ${at} imports row ${below}`),
    )
    expect(upward).toEqual([])
  })

  it('lead from the core and lib to no package', () => {
    expect(lines(places('core', 'lib').filter(({ ours, to }) => !ours && !to.startsWith('node:')))).toEqual([])
  })

  it('lead to the packages of a database only from the adapters and what puts them together', () => {
    const databases = ['pg', 'drizzle-orm', 'ioredis', 'bullmq']
    const isDatabase = ({ to }: Import) => databases.some((name) => to === name || to.startsWith(`${name}/`))
    expect(lines(places('http', 'web', 'mcp', 'telemetry').filter(isDatabase))).toEqual([])
  })

  it('lead from the client, which runs elsewhere, to packages only, and to the client only from the one-machine demo', () => {
    expect(lines(places('client').filter((it) => !within(it) && (it.ours || it.to.startsWith('node:'))))).toEqual([])
    const users = imports.filter((it) => it.ours && placeOf(it.to) === 'client' && !within(it))
    expect([...new Set(users.map(({ from }) => placeOf(from)))]).toEqual(['local'])
  })

  it.each([
    ['telemetry/tracing', 'open-tracing', /^(@opentelemetry\/|bullmq-otel$)/],
    ['telemetry/metrics', 'open-metrics', /^prom-client$/],
  ])('lead to the packages of %s only from its folder, which the two services load on demand', (folder, door, its) => {
    const inFolder = (file: string) => file.startsWith(`${folder}/`)
    expect(lines(imports.filter(({ from, to }) => its.test(to) && !inFolder(from)))).toEqual([])
    const loading = imports.filter((it) => !it.typeOnly && inFolder(it.to) && !inFolder(it.from))
    expect(lines(loading).sort()).toEqual([`server.ts → ${folder}/${door}.ts`, `worker.ts → ${folder}/${door}.ts`])
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    for (const entry of ['server.ts', 'worker.ts'])
      expect(readFileSync(join(SRC, entry), 'utf8')).toContain(`() => import('./${folder}/${door}.js')`)
    expect(scripts.bundle).toContain(`--external:./${folder}/${door}.js`)
  })

  it('never lead to an entry point, except from the child process of the one-machine stack, which becomes one', () => {
    const toEntries = imports.filter(({ to, ours }) => ours && !to.includes('/'))
    expect(lines(toEntries).sort()).toEqual(['local/child.ts → server.ts', 'local/child.ts → worker.ts'])
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
  'http/create-image-api/openai-images.test.ts',
  'images/any-image-store.test.ts',
  'db/webhooks/deliveries.test.ts',
  'worker/clock-skew.long.test.ts',
]

/** They still measure how long something takes: to be mended. */
const STILL_MEASURE = [
  'http/shared/errors.test.ts',
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
