/** Easel's command line as an operator meets it, over a database and an image directory of the file's own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { archiveFiles } from '../../src/images/archive-files.js'
import { createTestDatabase } from '../support/services.js'
import { ADMIN_ACTOR, type AdminDriver, adminDriver } from './admin-driver.js'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Easel {
  readonly db: Database
  readonly databaseUrl: string
  /** The image directory. */
  readonly storage: string
  readonly env: Record<string, string>
  /** Who is recorded. */
  readonly actor: string
  /** One command line, its words separated by blanks or given one by one. */
  run(line: string | readonly string[], env?: Record<string, string>, password?: string): Promise<Ran>
  /** With --json. @returns the one JSON value on stdout */
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came out; the tests look at it
  json(line: string | readonly string[], env?: Record<string, string>): Promise<any>
  /** @returns the text on stdout without its line end */
  text(line: string | readonly string[], env?: Record<string, string>): Promise<string>
  /** @returns what follows `error: ` on stderr */
  error(line: string | readonly string[], env?: Record<string, string>): Promise<string>
}

let throughAdmin = false

/** From now on useEasel sends what has an endpoint to /admin/v1, and runs the command line for the rest. */
export function driveThroughAdminApi(): void {
  throughAdmin = true
}

/** From now on useEasel runs the command line for all. */
export function driveThroughCommandLine(): void {
  throughAdmin = false
}

/** What the command line adds to a sentence of the core: where to look, and that a field is an option. */
const asTheCoreSaysIt = (sentence: string): string =>
  sentence
    .replace(/: "easel [^"]*" shows [\w ]+\.$/, '.')
    .replace(/--([a-z-]+)/g, (_, name: string) => name.replaceAll('-', '_'))

/** A sentence that only the command line can say: of what was typed. */
const OF_WHAT_WAS_TYPED =
  /^(--|Lines? \d|N |ID |The role |Nothing to |Give |"|Required option)|, not "[^"]*"\.$|--yes|can't be read|is not text in UTF-8/

/** Read it inside a test, not while the file loads. `each`: a new one for every test. */
export function useEasel({ each = false }: { readonly each?: boolean } = {}): Easel {
  const isAdmin = throughAdmin
  let driver: AdminDriver | undefined
  const held = {} as { -readonly [K in 'db' | 'databaseUrl' | 'storage' | 'env']: Easel[K] }
  const [before, after] = each ? [beforeEach, afterEach] : [beforeAll, afterAll]
  before(async () => {
    held.databaseUrl = (await createTestDatabase()).url
    held.storage = await mkdtemp(join(tmpdir(), 'easel-images-'))
    held.db = createDatabase(held.databaseUrl, {
      maxConnections: 5,
      onError: () => undefined,
      archiveFiles: archiveFiles({ storage: { kind: 'file', path: held.storage } }),
    })
    held.env = {
      DATABASE_URL: held.databaseUrl,
      STORAGE_URL: `file:${held.storage}`,
      BASE_URL: 'https://easel.test',
      LOG_LEVEL: 'silent',
    }
  })
  after(async () => {
    await driver?.close()
    driver = undefined
    await held.db.pool.end()
    await rm(held.storage, { recursive: true, force: true, maxRetries: 20 })
  })
  const run: Easel['run'] = (line, env = {}, password) => runLine(line, { ...held.env, ...env }, undefined, password)
  const succeed = async (line: string | readonly string[], env?: Record<string, string>) => {
    const ran = await run(line, env)
    if (ran.code !== 0 || ran.stderr !== '') throw new Error(`${line}: exit ${ran.code}, ${ran.stderr}${ran.stdout}`)
    return ran.stdout
  }
  const call = (line: string | readonly string[]) => {
    driver ??= adminDriver(held.db, held.env)
    return driver.call(typeof line === 'string' ? line.split(' ') : line)
  }
  const sent = async (line: string | readonly string[]) => {
    const answer = await call(line)
    if (answer && answer.status >= 400) throw new Error(`${line}: ${answer.status}, ${answer.body.error}`)
    return answer?.body
  }
  return Object.assign(held, {
    run,
    actor: isAdmin ? ADMIN_ACTOR : `command line (${userInfo().username})`,
    json: async (line: string | readonly string[], env?: Record<string, string>) =>
      (isAdmin && !env && (await sent(line))) ||
      JSON.parse(await succeed(typeof line === 'string' ? `${line} --json` : [...line, '--json'], env)),
    text: async (line: string | readonly string[], env?: Record<string, string>) =>
      (await succeed(line, env)).replace(/\n$/, ''),
    error: async (line: string | readonly string[], env?: Record<string, string>) => {
      const answer = isAdmin && !env ? await call(line) : undefined
      const { code, stdout, stderr } = await run(line, env)
      const sentence = /^error: (.*)\n$/.exec(stderr)?.[1]
      if (code !== 1 || stdout !== '' || !sentence) throw new Error(`${line}: exit ${code}, ${stderr}${stdout}`)
      // Each refuses it, and what the core says is said alike.
      if (answer) {
        if (answer.status < 400) throw new Error(`${line} is answered ${answer.status}`)
        if (answer.status < 500 && !OF_WHAT_WAS_TYPED.test(sentence))
          expect([line, asTheCoreSaysIt(answer.body.error)]).toEqual([line, asTheCoreSaysIt(sentence)])
      }
      return sentence
    },
  })
}

export async function runLine(
  line: string | readonly string[],
  env: Record<string, string>,
  localDirectory?: string,
  password = '',
): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  const output = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text
    },
  })
  const code = await runCli(typeof line === 'string' ? line.split(' ') : line, env, {
    stdout: output('stdout'),
    stderr: output('stderr'),
    readPassword: async () => password,
    patienceMs: 0,
    ...(localDirectory !== undefined && { localDirectory }),
  })
  return { code, ...written }
}
