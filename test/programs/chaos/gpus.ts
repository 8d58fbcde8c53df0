import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import type { Drawing, GpuCommand, GpuFault, GpuReport, GpuSetup, Kept } from './gpu-hosts.js'

/**
 * One inference as a GPU host saw it. Times as Date.now() gives them. An A1111 host begins it when it is asked, and ends it
 * with its connection; a ComfyUI host when it is its turn, and goes on with it when its worker has died, until it is
 * drawn or somebody cancels it.
 */
export interface GpuRun extends Omit<Drawing, 'prompt'> {
  readonly gpu: number
  /** From the prompt: which request it is for, and of which kind. */
  readonly tag: string
  readonly kind: string
  readonly at: number
  endedAt: number | undefined
  /** The image was sent whole, or by ComfyUI kept for its client: the GPU's work is done, whatever became of it. */
  answered: boolean
}

export interface Gpus {
  /** An entry of INFERENCE_URL for each. */
  readonly urls: readonly string[]
  readonly runs: readonly GpuRun[]
  /** Called at the beginning of each run. */
  onRun: (run: GpuRun) => void
  set(target: number, fault: GpuFault): void
  listen(target: number, listen: boolean): void
  /** The prompts with this word that ComfyUI hosts still have. */
  kept(word: string): Promise<readonly Kept[]>
  stop(): Promise<void>
}

export async function startGpus(
  script: string,
  options: {
    readonly setup: GpuSetup
    readonly read: (prompt: string) => { readonly tag: string; readonly kind: string }
  },
): Promise<Gpus> {
  const { setup, read } = options
  const child: ChildProcess = fork(script, [JSON.stringify(setup)], {
    detached: true,
    execArgv: [],
  })
  const runs: GpuRun[] = []
  const open = new Map<number, GpuRun>()
  const answers = new EventEmitter()
  const tell = (command: GpuCommand) => void (child.connected && child.send(command))
  const [first] = (await once(child, 'message')) as [GpuReport]
  const gpus: Gpus = {
    urls: 'urls' in first ? first.urls : [],
    runs,
    onRun: () => undefined,
    set: (target, fault) => tell({ target, fault }),
    listen: (target, listen) => tell({ target, listen }),
    async kept(word) {
      tell({ keptWith: word })
      const [report] = (await once(answers, 'kept')) as [readonly Kept[]]
      return report
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
  child.on('message', (report: GpuReport) => {
    if ('run' in report) {
      const { prompt, ...drawing } = report.drawing
      const run = {
        ...{ gpu: report.gpu, ...read(prompt), ...drawing, at: report.at, endedAt: undefined, answered: false },
      }
      runs.push(run)
      open.set(report.run, run)
      gpus.onRun(run)
    } else if ('kept' in report) answers.emit('kept', report.kept)
    else if ('ended' in report) {
      const run = open.get(report.ended)
      open.delete(report.ended)
      if (run) Object.assign(run, { endedAt: report.at, answered: report.answered })
    }
  })
  return gpus
}
