import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const LOOK_MS = 1000
/** A shell and a TypeScript runner may stand between a package manager and us. */
const MOST_LINKS = 5
const PACKAGE_MANAGER = /(^|\/)(npm|npm-cli\.js|pnpm(\.c?js)?|yarn(\.js)?)( |$)/

/**
 * Calls `then` once the npm that ran us is gone, or what stands between. Killed, it can pass nothing on to us; that it
 * is gone shows in a process of the chain getting another parent. Without an npm, nobody is watched: who started us by
 * hand may leave.
 */
export async function whenStarterIsGone(then: () => void): Promise<void> {
  const chain = await chainToPackageManager()
  if (!chain) return
  const look = async () => {
    for (const { pid, parent } of chain) {
      if ((await lookAt(pid))?.parent === parent) continue
      clearInterval(timer)
      return then()
    }
  }
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
}

interface Link {
  readonly pid: number
  readonly parent: number
}

/** From ourselves up to the child of the package manager. */
async function chainToPackageManager(): Promise<Link[] | undefined> {
  const chain: Link[] = []
  for (let pid = process.pid; chain.length < MOST_LINKS; ) {
    const parent = (await lookAt(pid))?.parent
    if (!parent || parent === 1) return undefined
    chain.push({ pid, parent })
    if (PACKAGE_MANAGER.test((await lookAt(parent))?.command ?? '')) return chain
    pid = parent
  }
  return undefined
}

async function lookAt(pid: number): Promise<{ parent: number; command: string } | undefined> {
  if (process.platform === 'linux') {
    const [stat, commandLine] = await Promise.all(
      ['stat', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
    )
    // After the program's name in parentheses, which may hold anything: the state, then the parent.
    const parent = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    return parent ? { parent, command: commandLine?.replaceAll('\0', ' ') ?? '' } : undefined
  }
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'ppid=,command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }))
  const [, parent, command] = /^\s*(\d+)\s+(.*)/.exec(stdout) ?? []
  return parent ? { parent: Number(parent), command: command ?? '' } : undefined
}
