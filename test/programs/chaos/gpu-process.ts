/** Entry point: the GPU hosts, one per worker, in a process of their own that the chaos run tells what to break. */
import {
  type Drawing,
  type GpuCommand,
  type GpuHost,
  type GpuReport,
  type GpuSetup,
  type Kept,
  startA1111Host,
  startComfyuiHost,
} from './gpu-hosts.js'

const { hosts, ...setup } = JSON.parse(process.argv[2] ?? '') as GpuSetup
const report = (what: GpuReport) => void process.send?.(what)
let runs = 0

const gpus: GpuHost[] = []
for (const [gpu, host] of hosts.entries()) {
  const options = {
    ...setup,
    onRun: (drawing: Drawing, ended: Promise<boolean>) => {
      const run = ++runs
      report({ run, gpu, drawing, at: Date.now() })
      void ended.then((answered) => report({ ended: run, at: Date.now(), answered }))
    },
  }
  gpus.push(host.kind === 'a1111' ? await startA1111Host(options) : await startComfyuiHost({ ...options, ...host }))
}

const keptBy = (host: GpuHost, gpu: number, word: string): Kept[] =>
  Object.entries(host.kept()).flatMap(([where, text]) =>
    (text.match(new RegExp(`${word} \\w+ \\w+`, 'g')) ?? []).map((prompt) => ({
      ...{ gpu, where: where as Kept['where'], prompt },
    })),
  )

process.on('disconnect', () => process.exit(0))
process.on('message', (command: GpuCommand) => {
  if ('keptWith' in command) return report({ kept: gpus.flatMap((host, gpu) => keptBy(host, gpu, command.keptWith)) })
  const gpu = gpus[command.target]
  if ('fault' in command) gpu?.set(command.fault)
  else void gpu?.listen(command.listen)
})
report({ urls: gpus.map(({ url }) => url) })
