import { z } from 'zod'
import { SAMPLERS, type Sampler } from '../../generation/sampler.js'

import type { ServerHttp } from '../server-http.js'
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

/**
 * The names under which the catalog may have a server's checkpoints, each with the server's own spelling: its full name
 * with either slash, and its base name where only one checkpoint has it.
 */
function checkpointNames(listed: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const offer = (name: string, checkpoint: string) => {
    if (!names.has(name)) names.set(name, checkpoint)
  }
  for (const checkpoint of listed) names.set(checkpoint, checkpoint)
  for (const checkpoint of listed) offer(checkpoint.replaceAll('\\', '/'), checkpoint)
  const baseNames = listed.map(baseName)
  for (const [i, checkpoint] of listed.entries()) {
    const name = baseNames[i] as string
    if (baseNames.indexOf(name) === baseNames.lastIndexOf(name)) offer(name, checkpoint)
  }
  return names
}

const baseName = (checkpoint: string) => checkpoint.replace(/^.*[\\/]/, '')

/** What a KSampler node is told. */
export interface ServerSampler {
  readonly name: string
  readonly scheduler: string
}

/**
 * Only the same algorithm with the same noise schedule counts; null is refused rather than replaced by the nearest
 * (ipndm is such a neighbour of pndm). "normal" is linear in the timestep, as the plain samplers want it. The SDE
 * samplers are those with noise from the CPU: the ones called `…_gpu` draw another image on every kind of GPU.
 */
const TABLE: Record<Sampler, readonly [name: string, scheduler: string] | null> = {
  euler_a: ['euler_ancestral', 'normal'],
  euler: ['euler', 'normal'],
  dpmpp_2m_karras: ['dpmpp_2m', 'karras'],
  dpmpp_2m_sde_karras: ['dpmpp_2m_sde', 'karras'],
  dpmpp_2m: ['dpmpp_2m', 'normal'],
  dpmpp_sde: ['dpmpp_sde', 'normal'],
  dpmpp_sde_karras: ['dpmpp_sde', 'karras'],
  ddim: ['ddim', 'ddim_uniform'],
  ddpm: ['ddpm', 'normal'],
  heun: ['heun', 'normal'],
  lms: ['lms', 'normal'],
  lms_karras: ['lms', 'karras'],
  dpm2: ['dpm_2', 'normal'],
  dpm2_a: ['dpm_2_ancestral', 'normal'],
  unipc: ['uni_pc', 'normal'],
  pndm: null,
  deis: ['deis', 'normal'],
  dpm_sde_karras: ['dpmpp_sde', 'karras'],
}

/** Our samplers that a server can honour, under the names that it lists. */
function samplersOf(listed: {
  readonly samplers: readonly string[]
  readonly schedulers: readonly string[]
}): ReadonlyMap<Sampler, ServerSampler> {
  const available = new Map<Sampler, ServerSampler>()
  for (const sampler of SAMPLERS) {
    const pair = TABLE[sampler]
    if (!pair) continue
    const [name, scheduler] = pair
    if (listed.samplers.includes(name) && listed.schedulers.includes(scheduler))
      available.set(sampler, { name, scheduler })
  }
  return available
}
