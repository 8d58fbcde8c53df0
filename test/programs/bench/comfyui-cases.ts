/** What Easel adds to the time of a ComfyUI server that draws 256 × 256. The rival speaks no ComfyUI. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { until } from '../../support/until.js'
import { type Bench, ROUNDS } from './bench.js'
import { now, post, submit } from './client.js'
import type { ComfyuiReport, Execution } from './comfyui-process.js'
import { median } from './figures.js'
import { MODELS, SMALL } from './gpu-cases.js'
import { cpuOf, WORKER } from './stack.js'

const COMFYUI = fileURLToPath(new URL('./comfyui-process.ts', import.meta.url))
/** About what a GPU takes for this size. */
const LATENCY_MS = 200
const IMAGES = 20
const WAITING = 16

/** The time outside the execution, the gaps between executions, and all the CPU that an image takes. */
export async function benchComfyui({ stack, figures, wanted, nextUser }: Bench): Promise<void> {
  if (!wanted('ComfyUI')) return
  const comfyui = await startComfyui()
  const worker = await stack.launch([WORKER], { INFERENCE_URL: comfyui.url })
  const cpu = async () => (await cpuOf(stack.server.pid)) + (await cpuOf(worker.pid)) + (await stack.servicesCpu())
  const outside = async () => {
    const begunAt = now()
    const { at } = await post(`${stack.url}/v1/images/generate`, nextUser(), { prompt: 'a lighthouse', ...SMALL })
    const [execution] = (await comfyui.executions(1)) as [Execution]
    return at - begunAt - (execution.endedAt - execution.begunAt)
  }
  const gaps = async () => {
    // The first one is drawn while the others wait.
    await Promise.all(Array.from({ length: WAITING + 1 }, () => submit(stack, nextUser(), SMALL)))
    const executions = await comfyui.executions(WAITING + 1)
    return executions.slice(1).map(({ begunAt }, n) => begunAt - (executions[n] as Execution).endedAt)
  }
  try {
    await outside() // warms up
    await outside()
    const before = await cpu()
    const waits: number[] = []
    while (waits.length < IMAGES) waits.push(await outside())
    const cpuMs = (((await cpu()) - before) * 1000) / IMAGES
    const all: number[] = []
    for (let n = 0; n < ROUNDS; n++) all.push(...(await gaps()))
    figures.add('ComfyUI, outside the execution, p50 ms', median(waits))
    figures.add('ComfyUI, CPU ms per image of all processes', cpuMs)
    figures.add(`ComfyUI, gap between prompts, ${WAITING} waiting, p50 ms`, median(all))
    figures.add(`ComfyUI, gap between prompts, ${WAITING} waiting, largest ms`, Math.max(...all))
  } finally {
    comfyui.stop()
    await worker.stop()
  }
}

async function startComfyui() {
  const child: ChildProcess = fork(COMFYUI, [String(LATENCY_MS), ...MODELS])
  const [first] = (await once(child, 'message')) as [ComfyuiReport]
  if (!('url' in first)) throw new Error('the ComfyUI stand-in did not say where it is')
  const reported: Execution[] = []
  child.on('message', (report: ComfyuiReport) => {
    if ('begunAt' in report) reported.push(report)
  })
  return {
    url: first.url,
    /** The next ones, in their order, once all of them have ended. */
    executions: async (count: number) => {
      await until(() => reported.length >= count, `${count} executions`)
      return reported.splice(0, count)
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
