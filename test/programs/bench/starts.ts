import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Bench, rounds } from './bench.js'
import { residentMiB } from './stack.js'

const IDLE_MS = 3000

/** What a process takes before its first request: the time to its first "ready", memory, and room on the disk. */
export async function benchStarts({ stack, rival, rivalScript, figures, wanted }: Bench): Promise<void> {
  if (wanted('cold start')) {
    const times = await rounds(['dist/server.js', rivalScript], async (script) => {
      const started = await stack.launch([script])
      await started.stop()
      return started.readyAfterMs
    })
    figures.addRounds('cold start to ready, ms', ...times)
  }
  if (wanted('memory')) {
    const idle = async (script: string) => {
      const started = await stack.launch([script])
      await delay(IDLE_MS)
      const resident = await residentMiB(started.pid)
      await started.stop()
      return resident
    }
    figures.add('server memory, idle, MiB', await idle('dist/server.js'), await idle(rivalScript))
    const loaded = [await residentMiB(stack.server.pid), await residentMiB(rival.pid)] as const
    figures.add('server memory, after all cases, MiB', ...loaded)
  }
  if (wanted('install size')) figures.add('install size, MiB', (await installedBytes('.')) / 2 ** 20)
}

interface Locked {
  readonly dev?: boolean
  /** Only development and an optional dependency need it. */
  readonly devOptional?: boolean
  readonly optional?: boolean
}

/**
 * The bytes that `npm ci --omit=dev` installs into this directory, counted where the packages lie now.
 * @throws Error when a package that is not optional is missing
 */
export async function installedBytes(directory: string): Promise<number> {
  const { packages } = JSON.parse(await readFile(join(directory, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>
  }
  let bytes = 0
  for (const [path, { dev, devOptional, optional }] of Object.entries(packages)) {
    if (path === '' || dev || devOptional) continue
    // What is optional and not there is for other platforms.
    bytes += await bytesBelow(join(directory, path)).catch((error: NodeJS.ErrnoException) => {
      if (optional && error.code === 'ENOENT') return 0
      throw error
    })
  }
  return bytes
}

async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    // Packages in there have their own entry in the lock file.
    if (entry.name === 'node_modules') continue
    const path = join(directory, entry.name)
    bytes += entry.isDirectory() ? await bytesBelow(path) : (await lstat(path)).size
  }
  return bytes
}
