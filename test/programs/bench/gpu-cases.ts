/** What lies between a submit and the GPU, and between the GPU and the answer: both workers, one stand-in GPU server each. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { within } from '../../support/until.js'
import type { GpuReport, GpuSetup } from '../chaos/gpu-hosts.js'
import { type Bench, rounds, SECONDS } from './bench.js'
import { headersOf, now, submit } from './client.js'
import { median, percentile } from './figures.js'
import type { LoadRequest } from './load.js'
import { cpuOf, type Started, WORKER } from './stack.js'

const GPU = fileURLToPath(new URL('../chaos/gpu-process.ts', import.meta.url))
/** The models of the submits and of Create Image. */
export const MODELS = ['ponyDiffusionV6XL.safetensors', 'noobaiXL_v11.safetensors']
export const SMALL = { width: 256, height: 256, steps: 20 }
const LARGE = { width: 832, height: 1216, steps: 20 }
const DISPATCHES = 40
const RATE = 30
/** In a round. */
const IMAGES = 16

type Gpus = Awaited<ReturnType<typeof startGpus>>
interface Side {
  readonly server: Started
  readonly worker: Started
}
type Sides = readonly [easel: Side, rival: Side]

/** The way to the GPU and back, through Easel's worker and the rival's. */
export async function benchGpuCases(bench: Bench): Promise<void> {
  const { stack, rival, rivalScript, wanted } = bench
  if (!['dispatch', 'Create Image', 'worker'].some(wanted)) return
  const gpus = await startGpus()
  const [ourGpu = '', itsGpu = ''] = gpus.urls
  // One after the other: a port is free until someone listens on it.
  const ours = await stack.launch([WORKER], { INFERENCE_URL: ourGpu })
  const its = await stack.launch([rivalScript, 'worker'], { GPU_URL: itsGpu.replace(/^a1111\+/, '') })
  const sides: Sides = [
    { server: stack.server, worker: ours },
    { server: rival, worker: its },
  ]
  try {
    if (wanted('dispatch')) await benchDispatch(bench, sides, gpus)
    for (const connections of [1, 8]) await benchCreateImage(bench, sides, connections)
    if (wanted('worker')) await benchWorker(bench, sides)
  } finally {
    gpus.stop()
    await Promise.all([ours.stop(), its.stop()])
  }
}

/** From a submit's answer to the GPU's request: of one submit after the other, and of a steady stream of them. */
async function benchDispatch({ figures, nextUser }: Bench, sides: Sides, gpus: Gpus): Promise<void> {
  const dispatch = async (server: Started) => {
    const prompt = `a lighthouse ${Math.random()}`
    const began = gpus.begins(prompt)
    const { at } = await submit(server, nextUser(), { prompt, ...SMALL })
    return (await within(60_000, began, 'the request to the GPU')) - at
  }
  const one = async (server: Started) => {
    await delay(100)
    return dispatch(server)
  }
  const stream = async (server: Started) => {
    const begun = now()
    const waits: Promise<number>[] = []
    for (let n = 0; n < 2 * RATE * SECONDS; n++) {
      await delay(begun + (n * 1000) / RATE - now())
      const wait = dispatch(server)
      // Told below: nobody catches what is told before, and the servers would be left running.
      wait.catch(() => undefined)
      waits.push(wait)
    }
    return Promise.all(waits)
  }

  const idle: [number[], number[]] = [[], []]
  for (let n = 0; n < DISPATCHES; n++)
    for (const side of [0, 1] as const) idle[side].push(await one(sides[side].server))
  figures.add('dispatch to the GPU, idle, p50 ms', median(idle[0]), median(idle[1]))

  const [ours, theirs] = await rounds(sides, ({ server }) => stream(server))
  for (const share of [0.5, 0.99]) {
    const of = (waits: readonly number[]) => percentile(waits, share)
    figures.addRounds(`dispatch to the GPU at ${RATE} submits/s, p${share * 100} ms`, ours.map(of), theirs.map(of))
  }
}

async function benchCreateImage(bench: Bench, sides: Sides, connections: number): Promise<void> {
  const name = `Create Image, ${connections} at a time`
  if (!bench.wanted(name)) return
  const p50s = await rounds(sides, async ({ server }) => {
    const { p50 } = await bench.generator.load(creation(bench, server, connections, SMALL))
    return p50
  })
  bench.figures.addRounds(`${name}, p50 ms`, ...p50s)
}

async function benchWorker(bench: Bench, sides: Sides): Promise<void> {
  const spent = await rounds(sides, async ({ server, worker }) => {
    const before = await cpuOf(worker.pid)
    const { answered } = await bench.generator.load(creation(bench, server, 1, LARGE))
    return (((await cpuOf(worker.pid)) - before) * 1000) / answered
  })
  bench.figures.addRounds('worker, CPU ms per 832 × 1216 image', ...spent)
}

const creation = ({ nextUser }: Bench, { url }: Started, connections: number, size: object) => ({
  url,
  connections,
  seconds: 30,
  status: 200,
  once: true,
  requests: Array.from({ length: IMAGES }, (): LoadRequest => {
    const body = JSON.stringify({ prompt: `a lighthouse ${Math.random()}`, ...size })
    return { method: 'POST', path: '/v1/images/generate', headers: headersOf(nextUser()), body }
  }),
})

async function startGpus() {
  const setup: GpuSetup = { hosts: [{ kind: 'a1111' }, { kind: 'a1111' }], latencyMs: 0, models: MODELS }
  const child: ChildProcess = fork(GPU, [JSON.stringify(setup)])
  const waiting = new Map<string, (at: number) => void>()
  const [first] = (await once(child, 'message')) as [GpuReport]
  if (!('urls' in first)) throw new Error('the GPU servers did not say where they are')
  child.on('message', (report: GpuReport) => {
    // Its clock counts whole milliseconds, which are half of one behind on average.
    if ('run' in report) waiting.get(report.drawing.prompt)?.(report.at + 0.5)
  })
  return {
    urls: first.urls,
    /** When the GPU is asked for this prompt. */
    begins: (prompt: string) => new Promise<number>((resolve) => waiting.set(prompt, resolve)),
    stop: () => void child.kill('SIGKILL'),
  }
}
