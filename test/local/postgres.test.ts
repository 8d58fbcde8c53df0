import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgresHome } from '../../src/local/postgres-home.js'
import { gone, newDirectory, query, useDataDirectory } from './own-postgres.js'

const data = useDataDirectory()

describe('the Postgres of npm start', () => {
  it('keeps data, password and port from one start to the next, and leaves no process when it stops', async () => {
    const first = await data.start()
    await query(first.url, `CREATE TABLE kept AS SELECT 42 AS answer`)
    await first.stop()
    await gone(first.pid, data.path)
    const second = await data.start()
    expect(second).toMatchObject({ url: first.url, reused: false })
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  })

  it('can be reached over 127.0.0.1 only, and only with the password, which only the owner can read', async () => {
    const { url, adminUrl } = await data.start()
    expect(await query(adminUrl, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    expect(await query(adminUrl, 'SHOW unix_socket_directories')).toEqual([{ unix_socket_directories: '' }])
    const guess = new URL(url)
    guess.password = 'guess'
    await expect(query(guess.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/)
    expect((await stat(join(data.path, 'state.json'))).mode & 0o777).toBe(0o600)
  })

  it('takes another port if somebody else has its own', async () => {
    const first = await data.start()
    await first.stop()
    const squatter = createServer().listen(first.port, '127.0.0.1')
    await once(squatter, 'listening')
    try {
      const second = await data.start()
      expect(second.port).not.toBe(first.port)
      expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    } finally {
      squatter.close()
    }
  })

  it('starts after a crash whose process ID another program has by now', async () => {
    const first = await data.start()
    await query(first.url, `CREATE TABLE committed AS SELECT 42 AS answer`)
    const pidFile = join(data.path, 'data/postmaster.pid')
    const [, ...rest] = (await readFile(pidFile, 'utf8')).split('\n')
    process.kill(first.pid, 'SIGKILL')
    await gone(first.pid, data.path)
    await writeFile(pidFile, [process.pid, ...rest].join('\n'))
    const second = await data.start()
    expect(second.reused).toBe(false)
    expect(await query(second.url, 'SELECT answer FROM committed')).toEqual([{ answer: 42 }])
  })

  it('names the Postgres that made the data, if it was another major version', async () => {
    const versionFile = join(data.path, 'data/PG_VERSION')
    const version = await readFile(versionFile, 'utf8')
    await writeFile(versionFile, '14\n')
    await expect(data.start()).rejects.toThrow(
      /was made by Postgres 14, .* brings Postgres \d+, which can't read it: .* move /,
    )
    await writeFile(versionFile, version)
  })

  it('refuses a data directory whose password is missing instead of making a new one', async () => {
    const fresh = await newDirectory()
    await mkdir(join(fresh, 'data'))
    await expect(data.start({ dataDir: fresh })).rejects.toThrow(
      /state\.json, which held the password .* is missing: restore/,
    )
  })

  it.skipIf(process.getuid?.() !== 0)(
    'takes, as root, no directory in /var/tmp that others can enter, where its user can’t reach the data directory',
    async () => {
      const closed = await newDirectory()
      await chmod(closed, 0o700)
      const dataDir = join(closed, 'data')
      const away = join(await realpath('/var/tmp'), `easel-${hash('sha256', dataDir).slice(0, 16)}`)
      await mkdir(dataDir)
      await mkdir(away)
      onTestFinished(() => rm(away, { recursive: true, force: true }))
      for (const mode of [0o710, 0o701]) {
        await chmod(away, mode)
        await expect(openPostgresHome(dataDir)).rejects.toThrow(/where the database would go, was made by someone else/)
      }
      await chmod(away, 0o700)
      expect(await openPostgresHome(dataDir)).toMatchObject({ directory: away })
    },
  )

  it('says why it did not start, with the end of its log', async () => {
    await expect(data.start({ settings: { shared_buffers: 'plenty' } })).rejects.toThrow(
      /^Postgres didn't start: invalid value for parameter "shared_buffers": "plenty"\. The end of .*server\.log:\n.*FATAL/s,
    )
  })
})
