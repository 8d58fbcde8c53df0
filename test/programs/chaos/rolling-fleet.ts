/** Servers and workers as processes of their own, each from its real entry point, that are replaced one after the other. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Config } from '../../../src/process/config.js'
import { freePort } from '../../support/free-port.js'
import { storageEnv } from '../../support/image-storage.js'
import { compiled } from '../../support/services.js'
import { until } from '../../support/until.js'
import { startWorkerProcess, type WorkerProcess } from '../../support/worker-process.js'
import type { BalancedClient } from './balanced-client.js'
import type { Watchdog } from './watchdog.js'

export interface ServerProcess {
  readonly pid: number
  readonly url: string
  readonly port: number
  kill(signal: NodeJS.Signals): void
  /** Resolves to the exit code, or the signal's name. */
  readonly ended: Promise<number | string>
}

export interface FleetOptions {
  readonly config: Config
  readonly client: BalancedClient
  /** Ends what a killed test run leaves. */
  readonly watchdog: Watchdog
  /** For each worker, the INFERENCE_URL that its successors have, too. */
  readonly gpus: readonly string[]
  /** Besides what the configuration says. */
  readonly env?: Readonly<Record<string, string>>
}

/** Longer than any hard stop; a start on a busy machine takes its time, too. */
const PATIENCE_MS = 150_000

export class Fleet {
  /** Where the scripts are of what is started from here on: another release's, to upgrade to this one. */
  program: (script: string) => string | Promise<string> = compiled
  readonly #options: FleetOptions
  #servers: ServerProcess[] = []
  #workers: WorkerProcess[] = []
  /** Each worker ever begun, whether or not it came up. */
  readonly #begun: Promise<unknown>[] = []
  readonly #all: (ServerProcess | WorkerProcess)[] = []
  /** How each process that was told to end has ended. */
  readonly #ends: Promise<{
    readonly who: string
    readonly how: number | string
    readonly at: number
    readonly ms: number
  }>[] = []

  constructor(options: FleetOptions) {
    this.#options = options
  }

  async start(servers: number): Promise<void> {
    const { gpus } = this.#options
    const [started, working] = await Promise.all([
      Promise.all(Array.from({ length: servers }, () => this.#server())),
      Promise.all(gpus.map((gpu) => this.#worker(gpu))),
    ])
    this.#servers = started
    this.#workers = working
  }

  /** As an orchestrator does it: the successor joins on a port of its own, then the old server is told to end. */
  async replaceServer(index: number): Promise<void> {
    const old = this.#servers[index] as ServerProcess
    this.#servers[index] = await this.#server()
    this.#tell(old, 'server')
    await until(() => !this.#options.client.isReady(old.url), 'the balancer noticing', PATIENCE_MS)
  }

  /** As a service manager does it: the old server ends, then its successor takes its port; the others carry the load. */
  async restartServer(index: number): Promise<void> {
    const old = this.#servers[index] as ServerProcess
    this.#tell(old, 'server')
    await old.ended
    this.#servers[index] = await this.#server(old.port)
  }

  /** The first gets its successor beforehand, the others afterwards. */
  async replaceWorkers(): Promise<void> {
    for (const [i, old] of this.#workers.entries()) {
      const gpu = this.#options.gpus[i] as string
      const early = i === 0 ? await this.#worker(gpu) : undefined
      this.#tell(old, 'worker')
      await old.ended
      this.#workers[i] = early ?? (await this.#worker(gpu))
    }
  }

  /** Resolves when every process that was told to end has ended. */
  ends(): Promise<{ readonly who: string; readonly how: number | string; readonly at: number; readonly ms: number }[]> {
    return Promise.all(this.#ends)
  }

  async kill(): Promise<void> {
    await Promise.allSettled(this.#begun)
    for (const each of this.#all) each.kill('SIGKILL')
    await Promise.all(this.#all.map(({ ended }) => ended))
  }

  #tell(process: ServerProcess | WorkerProcess, who: string): void {
    const toldAt = performance.now()
    process.kill('SIGTERM')
    this.#ends.push(process.ended.then((how) => ({ who, how, at: toldAt, ms: performance.now() - toldAt })))
  }

  /** Resolves once the balancer sends requests there. */
  async #server(port?: number): Promise<ServerProcess> {
    const { client, config, env } = this.#options
    const script = await this.program('src/server.ts')
    const server = startServerProcess(script, config, port ?? (await freePort()), env)
    this.#keep(server, 'src/server.js')
    if (port === undefined) client.join(server.url)
    await Promise.race([until(() => client.isReady(server.url), 'the server being ready', PATIENCE_MS), server.failed])
    return server
  }

  async #worker(gpu: string): Promise<WorkerProcess> {
    const starting = startWorkerProcess(
      this.#options.config,
      { INFERENCE_URL: gpu },
      await this.program('src/worker.ts'),
    )
    this.#begun.push(starting)
    const worker = await starting
    this.#keep(worker, 'src/worker.js')
    return worker
  }

  #keep(process: ServerProcess | WorkerProcess, script: string): void {
    const { watchdog } = this.#options
    this.#all.push(process)
    watchdog.note(process.pid, script)
    void process.ended.then(() => watchdog.forget(process.pid))
  }
}

function startServerProcess(
  script: string,
  config: Config,
  port: number,
  env: FleetOptions['env'],
): ServerProcess & { readonly failed: Promise<never> } {
  const child: ChildProcess = spawn(process.execPath, [script], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: config.databaseUrl,
      ...(config.redisUrl && { REDIS_URL: config.redisUrl }),
      ...storageEnv(config),
      BASE_URL: config.baseUrl,
      RATE_LIMIT_MAX: String(config.rateLimit.max),
      PORT: String(port),
      ...env,
    },
  })
  let said = ''
  child.stderr?.on('data', (data) => {
    said = (said + data).slice(-4000)
  })
  const ended = once(child, 'exit').then(([code, signal]) => signal ?? code)
  const failed = ended.then((how) => {
    throw new Error(`the server ended with ${how} instead of starting:\n${said}`)
  })
  failed.catch(() => undefined) // it is told to end sooner or later
  const pid = child.pid as number
  return { pid, url: `http://127.0.0.1:${port}`, port, kill: (signal) => void child.kill(signal), ended, failed }
}
