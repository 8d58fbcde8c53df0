/** Entry point: a ComfyUI stand-in in a process of its own, which says when each execution began and ended. */
import { startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { now } from './client.js'

export type ComfyuiReport = { readonly url: string } | Execution

export interface Execution {
  readonly begunAt: number
  readonly endedAt: number
}

const [latencyMs, ...models] = process.argv.slice(2)
const report = (what: ComfyuiReport) => void process.send?.(what)
const { inferenceUrl } = await startComfyuiStandIn({
  latencyMs: Number(latencyMs),
  models,
  onExecution: async (ended) => {
    const begunAt = now()
    await ended
    report({ begunAt, endedAt: now() })
  },
})
process.on('disconnect', () => process.exit(0))
report({ url: inferenceUrl })
