/** What lies between a submit and the GPU, and between the GPU and the answer: both workers, one stand-in GPU server each. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import type { GpuReport } from '../chaos/gpu-process.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { type Figures, median } from './figures.js'
import type { BenchUser } from './givens.js'
import type { LoadRequest, startLoadGenerator } from './load.js'
import { type BenchStack, cpuOf, type Started, WORKER } from './stack.js'

const GPU = fileURLToPath(new URL('../chaos/gpu-process.ts', import.meta.url))
const MODEL = 'ponyDiffusionV6XL.safetensors'
const PRESET_MODEL = 'noobaiXL_v11.safetensors'
const SMALL = { width: 256, height: 256, steps: 20 }
const DISPATCHES = 40
const IMAGES = 12
const ENDS = 40

export interface GpuCases {
  readonly stack: BenchStack
  readonly rival: Started
  readonly rivalScript: string
  readonly generator: ReturnType<typeof startLoadGenerator>
  /** Without an active generation. */
  readonly users: readonly BenchUser[]
  readonly figures: Figures
  readonly wanted: (name: string) => boolean
}

export async function benchGpuCases(cases: GpuCases): Promise<void> {
  const { stack, rival, rivalScript, figures, wanted } = cases
  if (!['event stream', 'dispatch', 'Create Image', 'worker'].some(wanted)) return
  await stack.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now(), lease_until = NULL
      WHERE status IN ('queued', 'processing')`,
  )
  await fetch(`${rival.url}/free`, { method: 'POST' })
  const users = [...cases.users]
  const nextUser = () => users.pop() as BenchUser
  if (wanted('event stream')) await benchEventStream(cases, nextUser)

  const directory = await mkdtemp(join(tmpdir(), 'easel-bench-images-'))
  const gpu = await startGpus()
  const [ourGpu = '', itsGpu = ''] = gpu.urls
  const [ours, its] = await Promise.all([
    stack.launch([WORKER], { INFERENCE_URL: ourGpu }),
    stack.launch([rivalScript, 'worker'], { GPU_URL: itsGpu.replace(/^a1111\+/, ''), IMAGES: directory }),
  ])
  try {
    const sides = [
      { server: stack.server, worker: ours },
      { server: rival, worker: its },
    ] as const
    if (wanted('dispatch')) {
      const waits: [number[], number[]] = [[], []]
      for (let n = 0; n < DISPATCHES; n++)
        for (const [side, { server }] of sides.entries()) {
          const prompt = `${side} ${n} ${Math.random()}`
          const began = gpu.begins(prompt)
          const at = await submitted(server, nextUser(), prompt)
          waits[side as 0 | 1].push((await began) - at)
          await delay(100)
        }
      figures.add('dispatch to the GPU, idle, p50 ms', median(waits[0]), median(waits[1]))
    }
    for (const connections of [1, 8]) {
      const name = `Create Image, ${connections} at a time`
      if (!wanted(name)) continue
      const loads = []
      for (const { server } of sides) {
        await cases.generator.load({ ...creation(server, nextUser, connections, 3), seconds: 30 }) // warms up
        loads.push(await cases.generator.load(creation(server, nextUser, connections, 100)))
      }
      const [easel, theirs] = loads.map(({ p50 }) => p50) as [number, number]
      figures.add(`${name}, p50 ms`, easel, theirs)
    }
    if (wanted('worker')) {
      const spent: number[] = []
      for (const { server, worker } of sides) {
        const size = { width: 832, height: 1216 }
        await cases.generator.load({ ...creation(server, nextUser, 1, 2, size), seconds: 30 })
        const before = await cpuOf(worker.pid)
        const { answered } = await cases.generator.load({ ...creation(server, nextUser, 1, IMAGES, size), seconds: 30 })
        spent.push((((await cpuOf(worker.pid)) - before) * 1000) / answered)
      }
      figures.add('worker, CPU ms per 832 × 1216 image', spent[0] as number, spent[1])
    }
  } finally {
    gpu.stop()
    await Promise.all([ours.stop(), its.stop()])
    await rm(directory, { recursive: true, force: true })
  }
}

/** How long after the row has ended its event stream says so. There is nothing like it in the rival. */
async function benchEventStream({ stack, figures }: GpuCases, nextUser: () => BenchUser): Promise<void> {
  const worker = standInWorker(stack.db)
  const waits: number[] = []
  for (let n = 0; n < ENDS; n++) {
    const user = nextUser()
    const headers = { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: 10 })
    const answer = await request(`${stack.url}/api/v1/generate`, { method: 'POST', headers, body })
    const { id } = (await answer.body.json()) as { id: string }
    const claimed = await worker.claim()
    const stream = await request(`${stack.url}/api/v1/generate/${id}/events`, { headers })
    const endedAt = new Promise<number>((resolve) => {
      let text = ''
      stream.body.on('data', (chunk) => {
        text += chunk
        if (text.includes('event: end')) resolve(performance.now())
      })
    })
    await delay(20)
    await worker.fail(claimed, 'over')
    const at = performance.now()
    waits.push((await endedAt) - at)
    stream.body.destroy()
  }
  figures.add('event stream tells the end, p50 ms after the row', median(waits))
}

/** Resolves to when its answer came, in the GPU process's time. */
async function submitted({ url }: Started, { key }: BenchUser, prompt: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ prompt, model_version_id: 10, ...SMALL })
  const answer = await request(`${url}/api/v1/generate`, { method: 'POST', headers, body })
  const at = performance.timeOrigin + performance.now()
  if (answer.statusCode !== 201)
    throw new Error(`a submit was answered ${answer.statusCode}: ${await answer.body.text()}`)
  await answer.body.dump()
  return at
}

const creation = (
  { url }: Started,
  user: () => BenchUser,
  connections: number,
  count: number,
  size: object = SMALL,
) => ({
  url,
  connections,
  seconds: 5,
  status: 200,
  once: true,
  requests: Array.from({ length: count }, (): LoadRequest => {
    const headers = { authorization: `Bearer ${user().key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ prompt: `a lighthouse ${Math.random()}`, ...size })
    return { method: 'POST', path: '/v1/images/generate', headers, body }
  }),
})

async function startGpus() {
  const child: ChildProcess = fork(GPU, ['2', '0', MODEL, PRESET_MODEL])
  const waiting = new Map<string, (at: number) => void>()
  const [first] = (await once(child, 'message')) as [GpuReport]
  if (!('urls' in first)) throw new Error('the GPU servers did not say where they are')
  child.on('message', (report: GpuReport) => {
    if ('run' in report) waiting.get(report.prompt)?.(report.at)
  })
  return {
    urls: first.urls,
    /** When the GPU is asked for this prompt. */
    begins: (prompt: string) => new Promise<number>((resolve) => waiting.set(prompt, resolve)),
    stop: () => void child.kill('SIGKILL'),
  }
}
