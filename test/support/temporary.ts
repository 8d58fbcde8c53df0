/** Where tests write what ends with them. */
import { accessSync, constants, readFileSync, statfsSync, statSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { dirname } from 'node:path'

const MEMORY = '/dev/shm'
const GIB = 2 ** 30
/** A run of either tier takes less than one. */
const ROOM = 4 * GIB
/** For the processes, and for what is in MEMORY. */
const MEMORY_LEFT = 8 * GIB

/**
 * For the directory of a run: TMPDIR if that is set, else memory, where Linux has a file system there with enough room
 * that lets programs run. A test database is hundreds of files: to create one costs ten times as much CPU on a disk.
 */
export const fastTemporaryDirectory = (): string =>
  process.env.TMPDIR === undefined && isUsable(MEMORY) ? MEMORY : sharedTemporaryDirectory()

function isUsable(memory: string): boolean {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const options = mounts
      .find((line) => line.split(' ')[1] === memory)
      ?.split(' ')[3]
      ?.split(',')
    const runsPrograms = options !== undefined && !options.includes('noexec')
    return runsPrograms && bavail * bsize >= ROOM && freemem() >= MEMORY_LEFT
  } catch {
    return false
  }
}

/** For what servers of another user read, too: as root TMPDIR may be root's own, and closed to them. */
export const sharedTemporaryDirectory = (): string =>
  process.getuid?.() === 0 && !isOpenToAll(tmpdir()) ? '/tmp' : tmpdir()

const isOpenToAll = (directory: string): boolean =>
  (statSync(directory).mode & 0o001) !== 0 && (dirname(directory) === directory || isOpenToAll(dirname(directory)))
