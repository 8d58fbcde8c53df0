import { z } from 'zod'
import type { ModelDefinition } from '../../core/catalog/model-definition.js'
import { samplersOf } from '../samplers.js'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'
import { choices, type nodeClasses } from './node-classes.js'
import { readJson } from './prompt-history.js'
import { classesOf, fitted } from './workflow/server-lacks.js'
import { type WorkflowDocument, workflowOf } from './workflow/workflow-definition.js'

const names = z.array(z.string())

const nodeWith = <T extends z.ZodRawShape>(inputs: T) => z.object({ input: z.object({ required: z.object(inputs) }) })
const kSampler = z.object({ KSampler: nodeWith({ sampler_name: choices, scheduler: choices }) })
const checkpointLoader = z.object({ CheckpointLoaderSimple: nodeWith({ ckpt_name: choices }) })

/** What a server draws a model with: a checkpoint by its own name for it, or a workflow with its own names of files. */
export type ServerModel = { readonly checkpoint: string } | { readonly workflow: WorkflowDocument }

export type ComfyuiServer = Awaited<ReturnType<typeof discover>>

/** What a server draws with, and its samplers. @throws BackendError, or the signal's reason */
export async function discover(
  http: ServerHttp,
  classes: ReturnType<typeof nodeClasses>,
  definitions: readonly ModelDefinition[],
  signal: AbortSignal,
) {
  const [listed, reply, version, fitting] = await Promise.all([
    listCheckpoints(http, signal),
    http.get('/object_info/KSampler', signal),
    versionOf(http, signal),
    fittingWorkflows(classes, definitions, signal),
  ])
  const { sampler_name, scheduler } = readJson(http.name, reply, kSampler).KSampler.input.required
  const samplers = samplersOf('comfyui', sampler_name, scheduler)
  const checkpoints = [...checkpointNames(listed)].map(([name, checkpoint]) => [name, { checkpoint }] as const)
  return {
    models: new Map<string, ServerModel>([...checkpoints, ...fitting.models]),
    lacks: fitting.lacks,
    samplers,
    version,
  }
}

/** The definitions that the server can draw with, and what it lacks for the others. */
async function fittingWorkflows(
  classes: ReturnType<typeof nodeClasses>,
  definitions: readonly ModelDefinition[],
  signal: AbortSignal,
) {
  const workflows = definitions.flatMap((definition) => {
    const workflow = workflowOf(definition)
    return workflow ? [{ filename: definition.filename, workflow }] : []
  })
  const classOf = await classes.look(
    workflows.flatMap(({ workflow }) => classesOf(workflow)),
    signal,
  )
  const models = new Map<string, ServerModel>()
  const lacks = new Map<string, readonly string[]>()
  for (const { filename, workflow } of workflows) {
    const fit = fitted(workflow, classOf)
    if (fit && fit.lacks.length > 0) {
      lacks.set(filename, fit.lacks)
      classes.askAgain(classesOf(workflow))
    } else if (fit) models.set(filename, { workflow: fit.workflow })
  }
  return { models, lacks }
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
