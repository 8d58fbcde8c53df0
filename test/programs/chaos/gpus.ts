import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Fault } from '../../stand-ins/a1111/faults.js'
import type { GpuCommand, GpuReport } from './gpu-process.js'

/** One inference as a GPU host saw it. Times as Date.now() gives them. */
export interface GpuRun {
  readonly gpu: number
  /** From the prompt: which request it is for, and of which kind. */
  readonly tag: string
  readonly kind: string
  readonly at: number
  endedAt: number | undefined
  /** The image was sent whole: the GPU's work is done, whatever became of it. */
  answered: boolean
}

export interface Gpus {
  /** An entry of INFERENCE_URL for each. */
  readonly urls: readonly string[]
  readonly runs: readonly GpuRun[]
  /** Called at the beginning of each run. */
  onRun: (run: GpuRun) => void
  set(target: number, fault: Fault): void
  listen(target: number, listen: boolean): void
  stop(): Promise<void>
}

export async function startGpus(
  script: string,
  options: {
    readonly count: number
    readonly latencyMs: number
    readonly models: readonly string[]
    readonly read: (prompt: string) => { readonly tag: string; readonly kind: string }
  },
): Promise<Gpus> {
  const { count, latencyMs, models, read } = options
  const child: ChildProcess = fork(script, [String(count), String(latencyMs), ...models], {
    detached: true,
    execArgv: [],
  })
  const runs: GpuRun[] = []
  const open = new Map<number, GpuRun>()
  const tell = (command: GpuCommand) => void (child.connected && child.send(command))
  const [first] = (await once(child, 'message')) as [GpuReport]
  const gpus: Gpus = {
    urls: 'urls' in first ? first.urls : [],
    runs,
    onRun: () => undefined,
    set: (target, fault) => tell({ target, fault }),
    listen: (target, listen) => tell({ target, listen }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
  child.on('message', (report: GpuReport) => {
    if ('run' in report) {
      const run = {
        gpu: report.gpu,
        ...read(report.prompt),
        at: report.at,
        endedAt: undefined,
        answered: false,
      }
      runs.push(run)
      open.set(report.run, run)
      gpus.onRun(run)
    } else if ('ended' in report) {
      const run = open.get(report.ended)
      open.delete(report.ended)
      if (run) Object.assign(run, { endedAt: report.at, answered: report.answered })
    }
  })
  return gpus
}
