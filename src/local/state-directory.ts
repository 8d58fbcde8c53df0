import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ForeignDirectory, requireOwn } from '../own-directory.js'
import { errorCode } from './run-as.js'

/** Where the one-machine stack keeps its state; each entry is made by the file that uses it. */
export interface StateDirectory {
  readonly path: string
  readonly postgres: string
  readonly logs: string
  /** Pictures that the demo saved for people to find. */
  readonly demoPictures: string
  readonly demoKey: string
  /** For the operator's command line. */
  readonly databaseUrl: string
  readonly runningStack: string
}

/** @throws Error with one sentence when `.easel` can't be made or written, or when somebody else made it */
export async function openStateDirectory(): Promise<StateDirectory> {
  const path = resolve('.easel')
  try {
    if (!existsSync(path)) {
      await mkdir(path)
      // Root's Postgres runs as "nobody", who must get through to its own directory.
      await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700)
    }
    await requireOwn(path)
    const probe = resolve(path, `.probe-${randomUUID()}`)
    await (await open(probe, 'wx', 0o600)).close()
    await rm(probe)
  } catch (error) {
    if (error instanceof ForeignDirectory) throw error
    throw new Error(
      `${path}, where everything is kept, can't be made or written (${errorCode(error)}): start in a directory of your own with room on its disk.`,
      { cause: error },
    )
  }
  const at = (name: string) => resolve(path, name)
  return {
    path,
    postgres: at('postgres'),
    logs: at('logs'),
    demoPictures: at('demo'),
    demoKey: at('demo-key'),
    databaseUrl: at('database-url'),
    runningStack: at('stack.json'),
  }
}

/** A file for its owner alone, replaced in one step. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}.tmp`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(unfinished, 'wx', 0o600)
    try {
      await handle.writeFile(text)
    } finally {
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw new Error(`${file} can't be written (${errorCode(error)}): make room for it and start again.`, {
      cause: error,
    })
  }
}
