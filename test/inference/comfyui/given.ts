import { onTestFinished } from 'vitest'
import type { InferenceRequest } from '../../../src/core/generations/run/backend.js'
import { type ComfyuiOptions, createComfyuiBackend } from '../../../src/inference/comfyui/comfyui-backend.js'
import { graphOf } from '../../../src/inference/comfyui/graph.js'
import { createServerHttp, parseServerUrl } from '../../../src/inference/server-http.js'
import { type StandInOptions, startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { aRequest, attached, PONY } from '../given.js'

export const VERSIONS = ['old', '0.3.64', 'new'] as const

export async function givenBackend(standInOptions: StandInOptions = {}, options: Partial<ComfyuiOptions> = {}) {
  const standIn = await startComfyuiStandIn(standInOptions)
  const patience = { answerMs: 60_000, awayMs: 100, silentMs: 60_000 }
  const times = { timeoutMs: 60_000, pollIntervalMs: 20, cancelGraceMs: 60_000, patience }
  return attached(standIn, createComfyuiBackend(standIn.inferenceUrl, { ...times, ...options }))
}

/** What the backend speaks through, closed when the test ends. */
export function givenHttp(url: string) {
  const http = createServerHttp(parseServerUrl(url), { keepAlive: true })
  onTestFinished(() => http.close())
  return http
}

export const isPrompt = ({ path }: { readonly path: string }) => path === '/prompt'

/** Puts a prompt into the queue as another client does. @returns its id */
export async function givenPrompt(
  url: string,
  marks: { client_id?: unknown; extra_data?: object } = {},
  asked: Partial<InferenceRequest> = {},
): Promise<string> {
  const { nodes } = graphOf(aRequest(asked), { checkpoint: PONY }, { name: 'euler', schedule: 'normal' })
  const response = await fetch(`${url}/prompt`, { method: 'POST', body: JSON.stringify({ prompt: nodes, ...marks }) })
  return ((await response.json()) as { prompt_id: string }).prompt_id
}
