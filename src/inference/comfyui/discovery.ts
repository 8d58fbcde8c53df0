import { z } from 'zod'
import { samplersOf } from '../samplers.js'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'
import { readJson } from './prompt-history.js'

const names = z.array(z.string())

/** A list to choose from: the list itself, or in newer versions `["COMBO", { options: list }]`. */
const choices = z.union([
  z.tuple([names], z.unknown()).transform(([list]) => list),
  z.tuple([z.string(), z.object({ options: names })], z.unknown()).transform(([, { options }]) => options),
])

const nodeWith = <T extends z.ZodRawShape>(inputs: T) => z.object({ input: z.object({ required: z.object(inputs) }) })
const kSampler = z.object({ KSampler: nodeWith({ sampler_name: choices, scheduler: choices }) })
const checkpointLoader = z.object({ CheckpointLoaderSimple: nodeWith({ ckpt_name: choices }) })

/** A server's checkpoints and samplers. @throws BackendError, or the signal's reason */
export async function discover(http: ServerHttp, signal: AbortSignal) {
  const [listed, reply, version] = await Promise.all([
    listCheckpoints(http, signal),
    http.get('/object_info/KSampler', signal),
    versionOf(http, signal),
  ])
  const { sampler_name, scheduler } = readJson(http.name, reply, kSampler).KSampler.input.required
  const samplers = samplersOf('comfyui', sampler_name, scheduler)
  return { checkpoints: checkpointNames(listed), samplers, version }
}

const systemStats = z.object({ system: z.object({ comfyui_version: z.string() }) })

/** Null where the server does not report it (before 0.3); it is only shown to people. */
async function versionOf(http: ServerHttp, signal: AbortSignal): Promise<string | null> {
  const { status, text } = await http.get('/system_stats', signal)
  return (status === 200 ? parsedJson(text, systemStats) : undefined)?.system.comfyui_version ?? null
}

async function listCheckpoints(http: ServerHttp, signal: AbortSignal): Promise<string[]> {
  const reply = await http.get('/models/checkpoints', signal)
  if (reply.status !== 404) return readJson(http.name, reply, names)
  // The server is older than the listing; the loader's choices are the same.
  const loader = await http.get('/object_info/CheckpointLoaderSimple', signal)
  return readJson(http.name, loader, checkpointLoader).CheckpointLoaderSimple.input.required.ckpt_name
}

/**
 * The names under which the catalog may have a server's checkpoints, each with the server's own spelling: its full name
 * with either slash, and its base name where only one checkpoint has it.
 */
function checkpointNames(listed: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map(listed.map((checkpoint) => [checkpoint, checkpoint]))
  const offer = (name: string, checkpoint: string) => {
    if (!names.has(name)) names.set(name, checkpoint)
  }
  for (const checkpoint of listed) offer(checkpoint.replaceAll('\\', '/'), checkpoint)
  const baseNames = listed.map((checkpoint) => checkpoint.replace(/^.*[\\/]/, ''))
  for (const [i, name] of baseNames.entries())
    if (baseNames.indexOf(name) === baseNames.lastIndexOf(name)) offer(name, listed[i] as string)
  return names
}
