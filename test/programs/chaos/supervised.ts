import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Watchdog } from './watchdog.js'
import type { Windows } from './windows.js'

export interface SupervisedOptions {
  readonly name: string
  /** The compiled entry point and its arguments. */
  readonly command: readonly string[]
  /** Asked anew for each start; `incarnation` counts them from 1. */
  readonly env: (incarnation: number) => Record<string, string>
  readonly logFile: string
  readonly watchdog: Watchdog
  readonly windows: Windows
  /** A process died by SIGKILL, ours or its own. */
  readonly onKilled: (name: string, at: number) => void
  /** A process ended although nobody told it to. */
  readonly onUnexpectedEnd: (name: string, how: string, at: number) => void
}

/** Between the end of a process and its next start, as a service manager's. */
const RESTART_MS = 150
const LEARNT_LATE_MS = 1000
/** Longer than the process's own hard stop. */
const TERM_MS = 36_000

/** One server or worker that is started again whenever it ends, until it is closed. */
export class Supervised {
  readonly name: string
  readonly #options: SupervisedOptions
  #child: ChildProcess | undefined
  #incarnation = 0
  #closing = false
  #told = false
  #ready = false
  #paused = false
  #reopen: (() => void) | undefined
  #next: NodeJS.Timeout | undefined
  #up: { promise: Promise<void>; resolve: () => void } = deferred()

  constructor(options: SupervisedOptions) {
    this.name = options.name
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Started, and neither paused as far as we know nor told to end: what a load balancer learns from /ready. */
  get ready(): boolean {
    return this.#ready && !this.#paused && !this.#told
  }

  get paused(): boolean {
    return this.#paused
  }

  start(): Promise<void> {
    const { name, command, env, logFile, watchdog, windows, onKilled, onUnexpectedEnd } = this.#options
    const log = openSync(logFile, 'a')
    this.#told = false
    const child = spawn(process.execPath, [...command], {
      stdio: ['ignore', log, log, 'ipc'],
      // Ctrl-C in the terminal is for the supervisor, which then ends everything in order.
      detached: true,
      env: { PATH: process.env.PATH ?? '', ...env(++this.#incarnation) },
    })
    closeSync(log)
    this.#child = child
    const pid = child.pid as number
    watchdog.note(pid, command[0] as string)
    child.on('error', () => undefined)
    child.on('message', () => {
      this.#ready = true
      this.#reopen?.()
      this.#reopen = undefined
      this.#up.resolve()
    })
    child.once('exit', (code, signal) => {
      watchdog.forget(pid)
      if (this.#ready) this.#up = deferred()
      this.#ready = false
      this.#paused = false
      // Its connections broke a moment before we learnt of it.
      this.#reopen ??= windows.open(name, Date.now() - LEARNT_LATE_MS)
      if (signal === 'SIGKILL') onKilled(name, Date.now())
      else if (!this.#told && !this.#closing)
        onUnexpectedEnd(name, signal ?? `exit code ${code}, ${lastLine(logFile)}`, Date.now())
      this.#child = undefined
      if (!this.#closing) this.#next = setTimeout(() => void this.start(), RESTART_MS)
    })
    return this.#up.promise
  }

  kill(): void {
    this.#disturb()
    this.#child?.kill('SIGKILL')
  }

  /** Killed; resolves once its next process is up. */
  async restart(): Promise<void> {
    const child = this.#child
    if (child) {
      const gone = once(child, 'exit')
      this.kill()
      await gone
    }
    await this.#up.promise
  }

  /** An orderly end, as at a deployment; resolves once it is gone. */
  async term(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#disturb()
    this.#told = true
    this.resume()
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), TERM_MS)
    await gone
    clearTimeout(late)
  }

  /** @param since when it may have been paused first, where it was not us */
  pause(since = Date.now()): void {
    if (!this.#child || this.#paused) return
    this.#reopen ??= this.#options.windows.open(this.name, since)
    this.#paused = true
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
    if (!this.#paused) return
    this.#paused = false
    // One that was told to end while it was paused goes on only to end.
    if (this.ready) {
      this.#reopen?.()
      this.#reopen = undefined
    }
  }

  async close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#next)
    const child = this.#child
    if (!child) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  #disturb(): void {
    this.#reopen ??= this.#options.windows.open(this.name)
  }
}

/** Those of the processes that are stopped (SIGSTOP), whoever did it. */
export async function stoppedAmong(pids: readonly number[]): Promise<number[]> {
  if (pids.length === 0) return []
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '-o', 'stat=', '-p', pids.join(',')]).catch(
    () => ({ stdout: '' }), // all of them have ended
  )
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([pid, state]) => (state?.startsWith('T') ? [Number(pid)] : []))
}

const lastLine = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').at(-1)?.slice(0, 200) ?? ''

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
