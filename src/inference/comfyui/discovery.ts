import { z } from 'zod'
import type { Sampler } from '../../generation/sampler.js'
import type { ServerHttp } from '../server-http.js'
import { checkpointNames } from './checkpoints.js'
import { type ServerSampler, samplersOf } from './comfyui-samplers.js'
import { readJson } from './prompt-history.js'

/** What a server was found to have. */
export interface ComfyuiServer {
  /** Every name of a checkpoint, with the server's spelling of it. */
  readonly checkpoints: ReadonlyMap<string, string>
  readonly samplers: ReadonlyMap<Sampler, ServerSampler>
  /** Null where it tells none, as before 0.3. */
  readonly version: string | null
}

const names = z.array(z.string())

/** A list to choose from: the list itself, or in newer versions `["COMBO", { options: list }]`. */
const choices = z.union([
  z
    .tuple([names])
    .rest(z.unknown())
    .transform(([list]) => list),
  z
    .tuple([z.string(), z.object({ options: names })])
    .rest(z.unknown())
    .transform(([, { options }]) => options),
])

const kSampler = z.object({
  KSampler: z.object({ input: z.object({ required: z.object({ sampler_name: choices, scheduler: choices }) }) }),
})
const checkpointLoader = z.object({
  CheckpointLoaderSimple: z.object({ input: z.object({ required: z.object({ ckpt_name: choices }) }) }),
})

/**
 * Asks a server for its checkpoints, samplers and schedulers.
 * @throws BackendError, or the signal's reason
 */
export async function discover(http: ServerHttp, signal: AbortSignal): Promise<ComfyuiServer> {
  const [checkpoints, reply, version] = await Promise.all([
    listCheckpoints(http, signal),
    http.get('/object_info/KSampler', signal),
    versionOf(http, signal),
  ])
  const { sampler_name, scheduler } = readJson(http.name, reply, kSampler).KSampler.input.required
  return {
    checkpoints: checkpointNames(checkpoints),
    samplers: samplersOf({ samplers: sampler_name, schedulers: scheduler }),
    version,
  }
}

const systemStats = z.object({ system: z.object({ comfyui_version: z.string() }) })

/** Only told to people: a server that keeps it to itself is as good. */
async function versionOf(http: ServerHttp, signal: AbortSignal): Promise<string | null> {
  const { status, text } = await http.get('/system_stats', signal)
  if (status !== 200) return null
  try {
    return systemStats.parse(JSON.parse(text)).system.comfyui_version
  } catch {
    return null
  }
}

async function listCheckpoints(http: ServerHttp, signal: AbortSignal): Promise<string[]> {
  const reply = await http.get('/models/checkpoints', signal)
  if (reply.status !== 404) return readJson(http.name, reply, names)
  // Older than the listing: what the loader lets one choose from is the same.
  const loader = await http.get('/object_info/CheckpointLoaderSimple', signal)
  return readJson(http.name, loader, checkpointLoader).CheckpointLoaderSimple.input.required.ckpt_name
}
