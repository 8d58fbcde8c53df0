import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lchown, lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatabaseUser, errorCode, LocalPostgresError, runAs } from './run-as.js'

/** Where the server's own files lie, and the user it runs as (undefined: ourselves). */
export interface PostgresHome {
  readonly directory: string
  readonly user: DatabaseUser | undefined
}

/**
 * The home is `dataDir` itself, unless this process is root and "nobody", as whom Postgres then runs, can't reach it
 * (a checkout under /root): then it is a directory of nobody's own in /var/tmp, named after `dataDir`.
 * @param awayBefore the home of an earlier start, where that was not `dataDir`
 */
export async function choosePostgresHome(
  dataDir: string,
  startedBefore: boolean,
  awayBefore: string | undefined,
): Promise<PostgresHome> {
  if (process.getuid?.() !== 0) {
    if (awayBefore)
      throw new LocalPostgresError(
        `The database of ${dataDir} was made by root and lies in ${awayBefore}: start as root.`,
      )
    return { directory: dataDir, user: undefined }
  }
  const user = await findNobody()
  if (awayBefore === undefined) {
    if (await canReach(user, dataDir)) return { directory: dataDir, user }
    if (startedBefore)
      throw new LocalPostgresError(
        `The database runs as user "${user.name}", who can no longer reach ${dataDir}: let others pass its parent directories again (chmod o+x).`,
      )
  }
  const away = await awayPath(dataDir)
  if (awayBefore !== undefined && awayBefore !== away && existsSync(awayBefore))
    throw new LocalPostgresError(
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
  throw new LocalPostgresError(
    'Postgres refuses to run as root, and there is no user "nobody" here to run it as: start as an ordinary user, or set DATABASE_URL.',
  )
}

/** Tried, not computed from mode bits: access lists, network mounts and user namespaces have their say too. */
async function canReach(user: DatabaseUser, directory: string): Promise<boolean> {
  try {
    return (await runAs(user, '/bin/sh', ['-c', 'cd "$1"', 'sh', directory])).code === 0
  } catch (error) {
    throw new LocalPostgresError(
      `Postgres refuses to run as root, and this process may not start programs as "${user.name}" (${errorCode(error)}): start as an ordinary user, or set DATABASE_URL.`,
      { cause: error },
    )
  }
}

const awayPath = async (dataDir: string) =>
  join(await realpath('/var/tmp'), `easel-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`)

/** Everyone may write to /var/tmp, so a directory that is there already must prove that it is ours. */
async function createAway(away: string, user: DatabaseUser): Promise<void> {
  await mkdir(away, { mode: 0o700 }).catch((error) => {
    if (errorCode(error) !== 'EEXIST') throw error
  })
  const found = await lstat(away)
  const ours = found.isDirectory() && (found.uid === 0 || found.uid === user.uid) && (found.mode & 0o077) === 0
  if (!ours)
    throw new LocalPostgresError(
      `${away}, where the database would go, was made by someone else (uid ${found.uid}): remove it and start again.`,
    )
  await lchown(away, user.uid, user.gid)
  if (!(await canReach(user, away)))
    throw new LocalPostgresError(
      `User "${user.name}", as whom Postgres runs when started by root, can't reach ${away}: start as an ordinary user, or set DATABASE_URL.`,
    )
}
