/** Entry point: the GPU hosts, one per worker, in a process of their own that the chaos run tells what to break. */
import { type A1111StandIn, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import type { Fault } from '../../stand-ins/a1111/faults.js'
import { drawImage } from '../../stand-ins/a1111/images.js'

export type GpuCommand =
  | { readonly target: number; readonly fault: Fault }
  | { readonly target: number; readonly listen: boolean }

export type GpuReport =
  | { readonly urls: readonly string[] }
  | { readonly run: number; readonly gpu: number; readonly prompt: string; readonly at: number }
  | { readonly ended: number; readonly at: number; readonly answered: boolean }

const [count = '1', latencyMs = '0', ...models] = process.argv.slice(2)
const report = (what: GpuReport) => void process.send?.(what)
/** Long enough for its progress and previews to be seen. */
const SLOW_MS = 1200
const size = { width: 64, height: 64 }
const currentImage = await drawImage({ ...size, key: 'preview', parameters: '', look: 'unfinished' })
let runs = 0

const gpus: A1111StandIn[] = []
for (let gpu = 0; gpu < Number(count); gpu++) {
  const standIn = await startA1111StandIn({
    latencyMs: Number(latencyMs),
    models,
    onTxt2img: (body, ended) => {
      const run = ++runs
      const prompt = String(body.prompt)
      gpus[gpu]?.set({ latencyMs: prompt.includes(' slow ') ? SLOW_MS : Number(latencyMs) })
      report({ run, gpu, prompt, at: Date.now() })
      // Some requests get a useless image on every host, as a job does that is itself at fault.
      if (prompt.includes(' broken ')) gpus[gpu]?.set({ fault: 'wrong_size', times: 1 })
      void ended.then((answered) => report({ ended: run, at: Date.now(), answered }))
    },
  })
  standIn.set({ currentImage: currentImage.toString('base64') })
  gpus.push(standIn)
}
process.on('disconnect', () => process.exit(0))
process.on('message', (command: GpuCommand) => {
  const gpu = gpus[command.target]
  if ('fault' in command) gpu?.set({ fault: command.fault })
  else void (command.listen ? gpu?.accept() : gpu?.refuse())
})
report({ urls: gpus.map(({ inferenceUrl }) => inferenceUrl) })
