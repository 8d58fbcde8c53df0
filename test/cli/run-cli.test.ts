import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { compiled, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { runLine, useEasel } from './easel.js'
import { givenSucceeded } from './given-images.js'

const easel = useEasel()
const NOWHERE = 'postgres://postgres@127.0.0.1:1/easel'

describe('the command line', () => {
  it('takes --json anywhere', async () => {
    for (const line of ['--json user create any1', 'user --json create any2', 'user create --json any3']) {
      const { code, stdout } = await easel.run(line)
      expect(code).toBe(0)
      expect(stdout).toMatch(/^\{\n {2}.*\n\}\n$/s)
      expect(JSON.parse(stdout)).toMatchObject({ credits: 0 })
    }
  })

  it('tells its version, as package.json has it', async () => {
    const { code, stdout } = await easel.run('--version')
    expect([code, stdout.trim()]).toEqual([0, JSON.parse(readFileSync('package.json', 'utf8')).version])
  })

  it('shows help on stdout', async () => {
    const { code, stdout, stderr } = await easel.run('--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const command of [
      'migrate',
      'user',
      'subscription',
      'credits',
      'key',
      'models',
      'jobs',
      'usage',
      'images',
      'audit',
    ]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'))
    }
    const nested = await easel.run('key create --help')
    expect(nested.stdout).toMatch(/^Usage: easel key create \[options\] <username>/)
    expect(nested.stdout).toContain('--json')
    expect((await easel.run('help credits')).stdout).toMatch(/^Usage: easel credits/)
  })

  it('says in a sentence what it does not understand, and where to look', async () => {
    expect(await easel.error('user creat bob')).toBe(
      `Unknown command 'creat' (Did you mean create?) "easel user --help" shows how.`,
    )
    expect(await easel.error('frobnicate')).toBe(`Unknown command 'frobnicate'. "easel --help" shows how.`)
    expect(await easel.error('user create')).toBe(
      `Missing required argument 'username'. "easel user create --help" shows how.`,
    )
    expect(await easel.error('user create a b')).toMatch(
      /^Too many arguments for 'create'.* "easel user create --help" shows how\.$/,
    )
    expect(await easel.error('jobs list --stauts queued')).toBe(
      `Unknown option '--stauts' (Did you mean --status?) "easel jobs list --help" shows how.`,
    )
    expect(await easel.error('jobs list --limit')).toMatch(/^Option '--limit <n>' argument missing\. /)
  })

  it('shows the commands where one is missing', async () => {
    for (const line of [[], ['user']]) {
      const { code, stdout, stderr } = await easel.run(line)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('Commands:')
      expect(stderr).toMatch(/\nerror: Name a command\. "easel(?: user)? --help" shows how\.\n$/)
    }
  })

  it('names the variable that is wrong', async () => {
    expect(await easel.error('user list', { REFUND_FAILED: 'yes' })).toBe('REFUND_FAILED must be true or false')
    expect(await easel.error('user list', { DATABASE_URL: 'mysql://localhost/easel' })).toMatch(
      /^DATABASE_URL must be a URL/,
    )
  })

  it('says what is wrong with the database', async () => {
    const other = (change: (url: URL) => void) => {
      const url = new URL(easel.databaseUrl)
      change(url)
      return { DATABASE_URL: url.href }
    }
    for (const line of ['user list', 'migrate', 'audit']) {
      expect(await easel.error(line, { DATABASE_URL: NOWHERE })).toMatch(
        /^Postgres can't be reached \(connect ECONNREFUSED.*\): check DATABASE_URL, and that Postgres runs\.$/,
      )
      expect(
        await easel.error(
          line,
          other((url) => {
            url.pathname = 'nonesuch'
          }),
        ),
      ).toBe('The database in DATABASE_URL does not exist: create it, or correct DATABASE_URL.')
      expect(
        await easel.error(
          line,
          other((url) => {
            url.password = 'wrong'
          }),
        ),
      ).toBe('Postgres refuses the user or the password in DATABASE_URL: correct them.')
      expect(
        await easel.error(
          line,
          other((url) => {
            url.password = ''
          }),
        ),
      ).toBe('Postgres refuses the user or the password in DATABASE_URL: correct them.')
    }
  })
})

describe('migrate', () => {
  let empty: string
  beforeAll(async () => {
    const url = new URL(easel.databaseUrl)
    await easel.db.pool.query(`CREATE DATABASE ${url.pathname.slice(1)}_empty`)
    url.pathname += '_empty'
    empty = url.href
  })

  it('is asked for by commands on a database without it, and may run twice at once and again', async () => {
    const env = { DATABASE_URL: empty }
    for (const line of ['user list', 'audit', 'models list']) {
      expect(await easel.error(line, env)).toBe('The database is not up to date: run "easel migrate" first.')
    }
    const { entries } = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8'))
    const tags = entries.map(({ tag }: { tag: string }) => tag)
    const both = await Promise.all([easel.run('migrate --json', env), easel.run('migrate --json', env)])
    expect(both.map(({ stdout }) => JSON.parse(stdout).applied).sort()).toEqual([[], tags])
    const told = both.map(({ stderr }) => stderr.split('\n').slice(0, -1))
    expect(told.sort((one, other) => one.length - other.length)).toEqual([
      [expect.stringMatching(/^Another "easel migrate" is at work\b.*: waiting for its end\./)],
      tags.map((tag: string, n: number) => `Migration ${n + 1} of ${tags.length}: ${tag}`),
    ])
    expect(await easel.text('migrate', env)).toBe(`The database is up to date (${tags.at(-1)}): nothing to do.`)
    expect((await easel.json('models list', env)).length).toBeGreaterThan(6)
  })
})

describe('migrate waits for a Postgres that is still starting', () => {
  const SENTENCE = /^Postgres takes no connections yet \(.+\): waiting for it, at most 20 s\.\n$/
  const migrating = (databaseUrl: string) => {
    let told = ''
    const stderr = {
      write(text: string) {
        told += text
      },
    }
    const env = { ...easel.env, DATABASE_URL: databaseUrl }
    const code = runCli(['migrate'], env, { stdout: { write: () => undefined }, stderr, patienceMs: 20_000 })
    return { code, told: () => told }
  }

  it('and refuses connections', async () => {
    const proxy = await startFaultProxy(easel.databaseUrl)
    onTestFinished(() => proxy.close())
    await proxy.refuse()
    const { code, told } = migrating(proxy.through(easel.databaseUrl))
    await until(() => told(), 'its line')
    await proxy.pass()
    expect(await code).toBe(0)
    expect(told()).toMatch(SENTENCE)
  })

  it('and says so (57P03)', async () => {
    const { hostname, port } = new URL(easel.databaseUrl)
    let asked = 0
    const server = createServer((client) => {
      client.on('error', () => undefined)
      if (asked++ === 0) {
        const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0')
        const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4])
        return void client.once('data', () => client.end(Buffer.concat([head, fields])))
      }
      const upstream = connect(Number(port), hostname).on('error', () => undefined)
      client.pipe(upstream).pipe(client)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port: here } = server.address() as AddressInfo
    const { code, told } = migrating(Object.assign(new URL(easel.databaseUrl), { host: `127.0.0.1:${here}` }).href)
    expect(await code).toBe(0)
    expect(told()).toMatch(SENTENCE)
  })
})

it('migrate tells a user without rights on the tables who must run it', async () => {
  const application = new URL(easel.databaseUrl)
  application.username = `reader_${randomBytes(4).toString('hex')}`
  application.password = 'secret'
  await easel.json('migrate', { APP_DATABASE_URL: application.href })
  expect(await easel.json('user list', { DATABASE_URL: application.href })).toEqual(expect.any(Array))
  expect(await easel.error('migrate', { DATABASE_URL: application.href })).toBe(
    'The user in DATABASE_URL has no right to that: run "easel migrate" as the owner of the tables, with this user in APP_DATABASE_URL.',
  )
})

it('a Postgres that takes no more connections is told, with what to do', async () => {
  const crowded = new URL(easel.databaseUrl)
  crowded.username = `crowded_${randomBytes(4).toString('hex')}`
  crowded.password = 'secret'
  await easel.db.pool.query(`CREATE ROLE ${crowded.username} LOGIN PASSWORD 'secret' CONNECTION LIMIT 0`)
  onTestFinished(async () => void (await easel.db.pool.query(`DROP ROLE ${crowded.username}`)))
  expect(await easel.error('user list', { DATABASE_URL: crowded.href })).toMatch(
    /^Postgres takes no more connections: raise its max_connections /,
  )
})

describe('the command line without DATABASE_URL', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'easel-local-'))
  })
  afterAll(() => rm(directory, { recursive: true }))
  const local = (line: string) => runLine(line, { DATABASE_URL: '', LOG_LEVEL: 'silent' }, directory)

  it('asks for it where no stack runs', async () => {
    const expected = `error: No database found: set DATABASE_URL, or run "npm start", whose stack does not run in ${directory} now.\n`
    expect(await local('user list')).toEqual({ code: 1, stdout: '', stderr: expected })
    await writeFile(join(directory, 'database-url'), `${NOWHERE}\n`)
    expect(await local('user list')).toEqual({ code: 1, stdout: '', stderr: expected })
  })

  it('does not trust a directory of a stack to which others may write', async () => {
    await writeFile(join(directory, 'database-url'), `${easel.databaseUrl}\n`)
    await chmod(directory, 0o777)
    const { code, stderr } = await local('user list')
    await chmod(directory, 0o700)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: Other users may write to /)])
  })

  it('uses the stack that npm start runs', async () => {
    await easel.json('user create local')
    await writeFile(join(directory, 'database-url'), `${easel.databaseUrl}\n`)
    expect(JSON.parse((await local('user show local --json')).stdout)).toMatchObject({ username: 'local' })
  })

  it('names images and links at the address of that stack, whatever its port', async () => {
    const image = await givenSucceeded(easel, await givenUser(easel.db))
    await easel.json('user create ported')
    await writeFile(join(directory, 'database-url'), `${easel.databaseUrl}\n`)
    await writeFile(join(directory, 'stack.json'), JSON.stringify({ url: 'http://localhost:4567' }))
    expect((await local(`jobs show ${image.id}`)).stdout).toContain(`http://localhost:4567/cdn/${image.slugs[0]}.png`)
    expect((await local('user sign-in-link ported')).stdout).toContain('http://localhost:4567/sign-in/')
  })

  it('checks a GPU server against that stack’s catalog, and against the built-in one where no stack runs', async () => {
    const server = await startA1111StandIn({ models: ['mine.safetensors'] })
    onTestFinished(() => server.close())
    const check = () => local(`backend check ${server.inferenceUrl} --output ${join(directory, 'check.png')}`)
    await writeFile(join(directory, 'database-url'), `${NOWHERE}\n`)
    expect((await check()).stderr).toMatch(/has none of the models/)

    await writeFile(join(directory, 'database-url'), `${easel.databaseUrl}\n`)
    await easel.db.pool.query('UPDATE model_versions SET enabled = false')
    expect(await check()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('models: 0 of 0\n'),
      stderr: expect.stringMatching(/^error: The catalog offers no model that .*: enable one with [^\n]*\.\n$/),
    })
    const mine = `(SELECT min(id) FROM model_versions)`
    await easel.db.pool.query(
      `UPDATE model_versions SET enabled = true, filename = 'mine.safetensors' WHERE id = ${mine}`,
    )
    expect((await check()).stdout).toContain('models: 1 of 1\n')
  })
})

describe('the command line as a process', () => {
  const start = async (args: readonly string[], env: Record<string, string> = {}, input = '') => {
    const child = spawn(process.execPath, [await compiled('src/cli.ts'), ...args], {
      env: { PATH: process.env.PATH, ...easel.env, ...env },
      stdio: 'pipe',
    })
    child.stdin.end(input)
    const read = async (stream: Readable) => (await stream.setEncoding('utf8').toArray()).join('')
    const [stdout, stderr, [code]] = await Promise.all([read(child.stdout), read(child.stderr), once(child, 'close')])
    return { stdout, stderr, code }
  }

  it('answers on stdout, ends, and leaves no connection behind', async () => {
    const before = (await easel.db.pool.query('SELECT now() AS at')).rows[0].at
    const { stdout, stderr, code } = await start(['user', 'create', 'process', '--credits', '5', '--json'])
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ username: 'process', credits: 5 })
    // Postgres notices the end of a connection a moment later.
    await until(async () => {
      const { rowCount } = await easel.db.pool.query(
        `SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_start > $1`,
        [before],
      )
      return rowCount === 0
    }, 'the end of the connections')
  })

  it('imports what is piped in', async () => {
    const plan = { name: 'Piped', credits: 100, period: 'month', unspent: 'expire' }
    const run = (input: string) => start(['plans', 'import', '-'], {}, input)
    expect(await run(JSON.stringify([plan]))).toMatchObject({ code: 0, stderr: '' })
    expect(await easel.json('plans list')).toMatchObject([{ name: 'Piped' }])
    expect((await run('[')).stderr).toBe('error: What is piped in is not valid JSON from line 1, column 2 on.\n')
  })

  it('ends after a command that opened the queue and the locks', async () => {
    for (const redis of redisAvailable ? [false, true] : [false]) {
      const { id } = await givenGeneration(easel.db, await givenUser(easel.db))
      const env = redis ? { REDIS_URL: await redisUrl() } : {}
      expect(await start(['jobs', 'cancel', id], env)).toEqual({
        stdout: `Job ${id} is canceled; its credits were given back.\n`,
        stderr: '',
        code: 0,
      })
    }
  })

  it('exits 1 with one sentence on stderr', async () => {
    expect(await start(['user', 'show', 'nobody'])).toEqual({
      stdout: '',
      stderr: 'error: No user "nobody": "node dist/cli.js user list" shows all.\n',
      code: 1,
    })
  })
})
