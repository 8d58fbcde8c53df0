import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { type ComfyuiStandIn, startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import type { RawSocket } from '../../stand-ins/comfyui/faults.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { givenUser, rowOf } from '../../support/givens.js'
import { bomb, compressedMessage, deflated } from '../../support/raw-websocket.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { startWorkerProcess } from '../../support/worker-process.js'

const MEGABYTE = 1024 * 1024
const MOST_BYTES = 400 * MEGABYTE

const sending = (bytes: Buffer, window = ''): RawSocket => ({
  extensions: `permessage-deflate${window}`,
  bytes: compressedMessage(bytes),
})
/** In memory many times as large as it is long. */
const eventOf = (objects: number) => deflated(Buffer.from(`{"type":"x","data":{"a":[${'{},'.repeat(objects)}0]}}`))

const HOSTILE: Readonly<Record<string, RawSocket>> = {
  'a window that zlib does not have': sending(bomb(16 * MEGABYTE), '; server_max_window_bits=1'),
  'a window that is no number': sending(bomb(16 * MEGABYTE), '; server_max_window_bits=x'),
  'a message that inflates to gigabytes': sending(bomb(2304 * MEGABYTE)),
  'an event that is too large to read': sending(eventOf(30 * MEGABYTE)),
  'events as large as may be': {
    extensions: 'permessage-deflate',
    bytes: Buffer.concat(Array(20).fill(compressedMessage(eventOf(1.3 * MEGABYTE)))),
  },
  'a broken stream': sending(Buffer.alloc(1000, 0xff)),
  'a message without an end': {
    extensions: '',
    bytes: Buffer.concat([Buffer.from('827f0000000080000000', 'hex'), Buffer.alloc(512 * MEGABYTE)]),
  },
}

const isSocket = ({ path }: { readonly path: string }) => path.startsWith('/ws?')

/** The most memory that the process has ever had, in bytes. */
async function peakOf(pid: number): Promise<number> {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/** A worker as a process of its own, on a ComfyUI server. */
async function givenWorker(gpu: ComfyuiStandIn) {
  onTestFinished(gpu.close)
  // Child processes know no test namespace.
  const service = await startService({ server: { namespace: 'easel' }, env: { RATE_LIMIT_MAX: '1000' } })
  onTestFinished(service.close)
  const startOne = async () => {
    const worker = await startWorkerProcess(service.config, { INFERENCE_URL: gpu.inferenceUrl })
    onTestFinished(async () => {
      worker.kill('SIGKILL')
      await worker.ended
    })
    return worker
  }
  const submit = async () => {
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256 }
    const { id } = (await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })).body
    return { id: id as string, end: () => endOf(service, user, id) }
  }
  return { service, startOne, submit, worker: await startOne() }
}

// Linux alone tells a process's peak.
it.runIf(process.platform === 'linux')(
  'a worker whose ComfyUI is hostile lives, stays small and delivers',
  async () => {
    const gpu = await startComfyuiStandIn({ latencyMs: 1500 })
    const { service, worker, submit } = await givenWorker(gpu)
    for (const [name, socket] of Object.entries(HOSTILE)) {
      gpu.set({ socket })
      const opened = gpu.journal.filter(isSocket).length
      const { id, end } = await submit()
      expect(await end(), name).toMatchObject({ status: 'succeeded' })
      expect(gpu.journal.filter(isSocket).length, name).toBeGreaterThan(opened)
      expect(await rowOf(service.db, { id }), name).toMatchObject({ attempt: 1, tries: 0, deaths: 0 })
      expect(await peakOf(worker.pid), name).toBeLessThan(MOST_BYTES)
    }
  },
  300_000,
)

it('a worker does not wait for what a dead one has left on the server', async () => {
  const gpu = await startComfyuiStandIn()
  gpu.set({ held: true })
  const { service, worker, startOne, submit } = await givenWorker(gpu)
  const queue = async () => JSON.stringify(await (await fetch(`${gpu.url}/queue`)).json())
  const { id, end } = await submit()
  await until(async () => (await queue()).includes(`"easel_attempt":"${id}-1"`), 'the first attempt')
  worker.kill('SIGKILL')
  await startOne()
  await until(async () => (await queue()).includes(`"easel_attempt":"${id}-2"`), 'the second attempt')
  await until(async () => !(await queue()).includes(`"easel_attempt":"${id}-1"`), 'the first one being off')
  gpu.set({ held: false })
  expect(await end()).toMatchObject({ status: 'succeeded' })
  expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 2, tries: 0, deaths: 1 })
})
