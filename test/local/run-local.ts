/** Runs `npm start` and `npm run demo` as processes of their own, in directories of their own. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { freePort, isTaken } from '../../src/local/listening-port.js'
import { ROOT } from '../support/compile.js'
import { compiled } from '../support/services.js'
import { until } from '../support/until.js'

/** As it is called from a checkout; it takes longer to start. */
export const UNBUILT = ['--import', import.meta.resolve('tsx'), join(ROOT, 'src/local.ts')]

const BUILT = [await compiled('src/local.ts')]

export interface LocalRun {
  readonly pid: number
  /** So far; complete once `exit` has settled. */
  readonly output: { stdout: string; stderr: string }
  readonly exit: Promise<number | NodeJS.Signals>
  /** Settles when stdout holds the text. */
  prints(text: string): Promise<void>
  /** To the whole process group, as a terminal does on Ctrl-C. */
  signalGroup(signal: NodeJS.Signals): void
}

const started: ChildProcess[] = []
const directories: string[] = []

afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  for (const directory of directories) {
    const postgres = await postgresPid(directory)
    if (postgres) process.kill(postgres, 'SIGQUIT')
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
})

export async function newDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp('/tmp/easel-run-'))
  directories.push(directory)
  await chmod(directory, 0o755) // as root Postgres runs as someone else
  return directory
}

export function runLocal(
  cwd: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  script: readonly string[] = BUILT,
): LocalRun {
  const child = spawn(process.execPath, [...script, ...args], {
    cwd,
    env: { ...bareEnvironment(), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  const pid = child.pid as number
  const exit = once(child, 'close').then(([code, signal]) => code ?? signal)
  let ended = false
  void exit.then(() => (ended = true))
  return {
    pid,
    output,
    exit,
    async prints(text) {
      await until(() => output.stdout.includes(text) || ended, `"${text}" on stdout`, 120_000)
      if (!output.stdout.includes(text)) throw new Error(`it ended without "${text}": ${output.stdout}${output.stderr}`)
    },
    signalGroup: (signal) => process.kill(-pid, signal),
  }
}

export type Checkout = Awaited<ReturnType<typeof givenCheckout>>

/** A directory in which `npm start` runs, and its port. */
export async function givenCheckout() {
  const directory = await newDirectory()
  const port = await freePort('127.0.0.1')
  const run = (command: string, env: NodeJS.ProcessEnv = {}, script?: readonly string[]) =>
    runLocal(directory, [command], { PORT: String(port), ...env }, script)
  return {
    ...{ directory, port, run },
    /** Resolves once it serves. */
    async start(env?: NodeJS.ProcessEnv, script?: readonly string[]): Promise<LocalRun> {
      const started = run('start', env, script)
      await started.prints('Ctrl-C stops everything.')
      return started
    },
    pidsOf: async (run: LocalRun) => [...Object.values(await servicesOf(run)), await postgresPid(directory)],
  }
}

export const keyOf = ({ output }: LocalRun) => /Key +(\S+)/.exec(output.stdout)?.[1] as string

/** Without the variables of whoever runs the tests, and those that vitest sets (BASE_URL is one). */
function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG } = process.env
  return { PATH, HOME, TMPDIR, LANG }
}

/** The Postgres that keeps its data in the directory, as its own file says; undefined when it was stopped. */
export async function postgresPid(directory: string): Promise<number | undefined> {
  const file = join(directory, '.easel/postgres/data/postmaster.pid')
  return Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10) || undefined
}

/** Server and worker of a run. */
export async function servicesOf({ pid }: LocalRun): Promise<{ server: number; worker: number }> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,command='])
  const find = (name: string) =>
    stdout
      .split('\n')
      .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)/.exec(line))
      .filter((found) => Number(found?.[2]) === pid && /child\.[jt]s (\w+)$/.exec(found?.[3] ?? '')?.[1] === name)
      .map((found) => Number(found?.[1]))[0]
  const [server, worker] = [find('server'), find('worker')]
  if (!server || !worker) throw new Error(`server or worker of ${pid} not found in:\n${stdout}`)
  return { server, worker }
}

/** A process that has ended, whether or not its parent has taken notice. */
export async function isGone(pid: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return stdout.trim() === '' || stdout.startsWith('Z')
}

export const allGone = (pids: readonly (number | undefined)[]) =>
  until(
    async () => (await Promise.all(pids.map((pid) => pid === undefined || isGone(pid)))).every(Boolean),
    `end of ${pids}`,
  )

export const portIsFree = (port: number) =>
  until(async () => !(await isTaken('127.0.0.1', port)), `port ${port} to be free`)
