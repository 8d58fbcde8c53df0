import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * An image directory that can go away: a file takes its place, so that every put and every read fails, as on a disk
 * that is full or gone. Unlike permission bits that also binds root.
 */
export function imageDirectory(directory: string) {
  const path = join(directory, 'images')
  const away = join(directory, 'images.away')
  let gone = false
  mkdirSync(path, { mode: 0o750 })
  return {
    path,
    takeAway() {
      if (gone) return
      gone = true
      renameSync(path, away)
      // A process that starts between the two steps makes the directory anew, empty.
      for (;;) {
        try {
          return writeFileSync(path, '', { flag: 'wx' })
        } catch {
          for (const name of readdirSync(path)) renameSync(join(path, name), join(away, name))
          rmdirSync(path)
        }
      }
    },
    bringBack() {
      if (!gone) return
      gone = false
      rmSync(path)
      renameSync(away, path)
    },
  }
}

export type ImageDirectory = ReturnType<typeof imageDirectory>
