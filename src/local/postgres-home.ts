/** The directory of a database, the user its server runs as, and the password that one start leaves for the next. */
import { hash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lchown, lstat, mkdir, readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type DatabaseUser, runAs } from './postgres-binaries.js'
import { endServer, findServer } from './postgres-server.js'
import { errorCode, ignoring } from './processes.js'
import { writePrivately } from './state-directory.js'

export type PostgresHome = Awaited<ReturnType<typeof openPostgresHome>>

type State = z.output<typeof stateSchema>

/** What state.json holds, which only its owner may read. */
const stateSchema = z.object({
  password: z.string().regex(/^[\w-]{20,}$/),
  /** Where the database lies when that is not beside this file. */
  away: z.string().optional(),
})

/** Where the database is, and its password. @throws Error with one sentence when what an earlier start left is bad */
export async function openPostgresHome(dataDir: string) {
  const stateFile = join(dataDir, 'state.json')
  const state = await readState(dataDir, stateFile)
  if (!state && existsSync(join(dataDir, 'data')))
    throw new Error(
      `${stateFile}, which held the password of the database, is missing: restore it, or delete ${dataDir} to start with an empty database.`,
    )
  const { directory, user } = await choosePlace(dataDir, state)
  const data = join(directory, 'data')
  if (state) return { directory, data, user, password: state.password }
  const away = directory === dataDir ? undefined : directory
  // A database without its password is useless: deleting dataDir means starting over.
  if (away) {
    const server = await findServer(data)
    if (server) await endServer(server, data, ['SIGQUIT'])
    await rm(data, { recursive: true, force: true, maxRetries: 5 })
  }
  const password = randomBytes(24).toString('base64url')
  // Stored before the database is made, which needs it.
  await writePrivately(stateFile, `${JSON.stringify({ password, away })}\n`)
  return { directory, data, user, password }
}

/** Undefined before the first start. */
async function readState(dataDir: string, file: string): Promise<State | undefined> {
  try {
    return stateSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined
    throw new Error(
      errorCode(cause) === 'EACCES'
        ? `${dataDir} belongs to another user: start as the one who started the database there before, or delete ${dataDir} to start with an empty one.`
        : `${file}, which holds the password of the database, can't be read: restore it, or delete ${dataDir} to start with an empty one.`,
      { cause },
    )
  }
}

/**
 * `dataDir` itself. As root, Postgres runs as the user "nobody": if that user can't reach `dataDir` (a checkout under
 * /root), a directory of its own in /var/tmp, named after `dataDir`.
 */
async function choosePlace(dataDir: string, state: State | undefined) {
  const awayBefore = state?.away
  if (process.getuid?.() !== 0) {
    if (awayBefore)
      throw new Error(`The database of ${dataDir} was made by root and lies in ${awayBefore}: start as root.`)
    return { directory: dataDir, user: undefined }
  }
  const user = await findNobody()
  if (awayBefore === undefined) {
    if (await canReach(user, dataDir)) return { directory: dataDir, user }
    if (state)
      throw new Error(
        `The database runs as user "${user.name}", who can no longer reach ${dataDir}: let others pass its parent directories again (chmod o+x).`,
      )
  }
  const away = join(await realpath('/var/tmp'), `easel-${hash('sha256', dataDir).slice(0, 16)}`)
  if (awayBefore !== undefined && awayBefore !== away && existsSync(awayBefore))
    throw new Error(
      `${dataDir} was moved or copied, but its database lies in ${awayBefore}: move that to ${away} to keep it, or delete ${dataDir} to start with an empty one.`,
    )
  await createAway(away, user)
  return { directory: away, user }
}

async function findNobody(): Promise<DatabaseUser> {
  for (const line of (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid, gid] = line.split(':')
    // Unsigned, as files show it: macOS writes nobody's -2 here.
    if (name === 'nobody') return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
  }
  throw new Error(
    'Postgres refuses to run as root, and there is no user "nobody" here to run it as: start as an ordinary user, or set DATABASE_URL.',
  )
}

/** Tries it, because mode bits ignore access lists, network mounts and user namespaces. */
async function canReach(user: DatabaseUser, directory: string): Promise<boolean> {
  try {
    return (await runAs(user, '/bin/sh', ['-c', 'cd "$1"', 'sh', directory])).code === 0
  } catch (cause) {
    throw new Error(
      `Postgres refuses to run as root, and this process may not start programs as "${user.name}" (${errorCode(cause)}): start as an ordinary user, or set DATABASE_URL.`,
      { cause },
    )
  }
}

/** Everyone may write to /var/tmp, so a directory that is there already must be ours and closed to others. */
async function createAway(away: string, user: DatabaseUser): Promise<void> {
  await mkdir(away, { mode: 0o700 }).catch(ignoring('EEXIST'))
  const found = await lstat(away)
  const isOurs = found.isDirectory() && (found.uid === 0 || found.uid === user.uid) && (found.mode & 0o077) === 0
  if (!isOurs)
    throw new Error(
      `${away}, where the database would go, was made by someone else (uid ${found.uid}): remove it and start again.`,
    )
  await lchown(away, user.uid, user.gid)
  if (!(await canReach(user, away)))
    throw new Error(
      `User "${user.name}", as whom Postgres runs when started by root, can't reach ${away}: start as an ordinary user, or set DATABASE_URL.`,
    )
}
