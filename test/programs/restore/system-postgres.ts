/** The system's Postgres, whose pg_dump and server are of one version: npm's brings a newer server and no pg_dump. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { chown, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { runAs } from '../../../src/local/postgres-binaries.js'
import { endServer, launchServer } from '../../../src/local/postgres-server.js'
import { findProgram, install } from '../../support/programs.js'
import type { Drill } from './drill.js'

const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_restore']
/** Where Debian keeps each version. */
const VERSIONS = '/usr/lib/postgresql'

/** The directory of its programs; undefined, after one line, where there is none and none can be had without a question. */
export async function findSystemPostgres(): Promise<string | undefined> {
  const found = find() ?? ((await install('postgresql')) ? find() : undefined)
  if (found) return found
  const missing = 'No Postgres with pg_dump on this system, and none could be installed'
  if (process.env.CI === 'true') throw new Error(`${missing}: with CI=true the tests need one.`)
  console.log(`${missing}: the restore of a dump is not tested. Install Debian's postgresql to test it.`)
  return undefined
}

function find(): string | undefined {
  const onPath = findProgram('postgres')
  const ofDebian = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : []
  const places = [
    ...(onPath ? [dirname(realpathSync(onPath))] : []),
    ...ofDebian.map((it) => join(VERSIONS, it, 'bin')),
  ]
  return places.find((place) => PROGRAMS.every((name) => existsSync(join(place, name))))
}

/** A server with a fresh cluster. */
export async function startSystemPostgres(programs: string, { directory, watchdog }: Drill) {
  const data = join(directory, 'system-postgres')
  await mkdir(data, { mode: 0o700 })
  const user = process.getuid?.() === 0 ? nobody() : undefined
  if (user) await chown(data, user.uid, user.gid)
  const initdb = ['-D', data, '-U', 'easel', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  const { code, output } = await runAs(user, join(programs, 'initdb'), initdb)
  if (code !== 0) throw new Error(`initdb failed: ${output}`)
  const binaries = { user, initdb: '', postgres: join(programs, 'postgres'), major: undefined }
  const server = await launchServer(data, binaries, join(directory, 'system-postgres.log'), { fsync: 'off' })
  watchdog.note(server.pid, `-D ${data}`)
  return { url: `postgres://easel@127.0.0.1:${server.port}/postgres`, stop: () => endServer(server, data, ['SIGQUIT']) }
}

/** Postgres refuses to run as root. */
function nobody() {
  const id = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { name: 'nobody', uid: id('-u'), gid: id('-g') }
}

/** Runs one of its programs to its end. @throws Error with what it said */
export const runProgram = (programs: string, name: string, args: readonly string[]) =>
  promisify(execFile)(join(programs, name), [...args])
