/** Where tests write what ends with them. */
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const GIB = 2 ** 30
/** A run of either tier takes less than one. */
const ROOM = 4 * GIB
/** For the processes, and for what is in MEMORY. */
const MEMORY_LEFT = 8 * GIB

/**
 * A file system in memory, where Linux has one with enough room that lets programs run. A test database is hundreds of
 * files: to create one costs ten times as much CPU on a disk.
 */
function inMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    const options =
      readFileSync('/proc/mounts', 'utf8')
        .match(/^\S+ \/dev\/shm tmpfs (\S+)/m)?.[1]
        ?.split(',') ?? []
    return bavail * bsize >= ROOM && freemem() >= MEMORY_LEFT && options.includes('rw') && !options.includes('noexec')
  } catch {
    return false
  }
}

/** Has this process and its children write there, unless TMPDIR says where. */
export function useFastTemporaryDirectory(): void {
  if (process.env.TMPDIR === undefined && inMemory()) process.env.TMPDIR = MEMORY
}

/** For what servers of another user read, too: as root a TMPDIR may be root's own, and closed to them. */
export const sharedTemporaryDirectory = (): string =>
  process.getuid?.() === 0 && tmpdir() !== MEMORY ? '/tmp' : tmpdir()
