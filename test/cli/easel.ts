/** Easel's command line as an operator meets it, over a database and an image directory of the file's own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { createTestDatabase } from '../support/services.js'

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

/** Read it inside a test, not while the file loads. `each`: a new one for every test. */
export function useEasel({ each = false }: { readonly each?: boolean } = {}): Easel {
  const held = {} as { -readonly [K in 'db' | 'databaseUrl' | 'storage' | 'env']: Easel[K] }
  const [before, after] = each ? [beforeEach, afterEach] : [beforeAll, afterAll]
  before(async () => {
    held.databaseUrl = (await createTestDatabase()).url
    held.storage = await mkdtemp(join(tmpdir(), 'easel-images-'))
    held.db = createDatabase(held.databaseUrl, { maxConnections: 5, onError: () => undefined })
    held.env = {
      DATABASE_URL: held.databaseUrl,
      STORAGE_URL: `file:${held.storage}`,
      BASE_URL: 'https://easel.test',
      LOG_LEVEL: 'silent',
    }
  })
  after(async () => {
    await held.db.pool.end()
    await rm(held.storage, { recursive: true, force: true, maxRetries: 20 })
  })
  const run: Easel['run'] = (line, env = {}, password) => runLine(line, { ...held.env, ...env }, undefined, password)
  const succeed = async (line: string | readonly string[], env?: Record<string, string>) => {
    const ran = await run(line, env)
    if (ran.code !== 0 || ran.stderr !== '') throw new Error(`${line}: exit ${ran.code}, ${ran.stderr}${ran.stdout}`)
    return ran.stdout
  }
  return Object.assign(held, {
    run,
    json: async (line: string | readonly string[], env?: Record<string, string>) =>
      JSON.parse(await succeed(typeof line === 'string' ? `${line} --json` : [...line, '--json'], env)),
    text: async (line: string | readonly string[], env?: Record<string, string>) =>
      (await succeed(line, env)).replace(/\n$/, ''),
    error: async (line: string | readonly string[], env?: Record<string, string>) => {
      const { code, stdout, stderr } = await run(line, env)
      const sentence = /^error: (.*)\n$/.exec(stderr)?.[1]
      if (code !== 1 || stdout !== '' || !sentence) throw new Error(`${line}: exit ${code}, ${stderr}${stdout}`)
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
    ...(localDirectory !== undefined && { localDirectory }),
  })
  return { code, ...written }
}
