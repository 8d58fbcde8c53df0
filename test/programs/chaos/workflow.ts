/** The model version of a run that is a ComfyUI workflow, which its operator changes now and then. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { readModelFile } from '../../../src/cli/model-file.js'
import { createDatabase } from '../../../src/db/client.js'
import { operatorModelStore } from '../../../src/db/operator/catalog.js'
import { withLora } from '../../inference/comfyui/workflow/given-graphs.js'
import type { GpuRun } from './gpus.js'
import type { Violation } from './history.js'

/** Its id in the catalog. */
export const WORKFLOW = 301
/** Its images' size divided by the asked one. */
export const WORKFLOW_SCALE = 2
/** Of the hosts that draw it; its revisions use one after the other. */
export const LORAS = ['ink.safetensors', 'oil.safetensors']

const VERSION = { id: WORKFLOW, name: 'lora', model_name: 'Chaos', base_model: 'SDXL', type: 'Workflow' }

/** Imports it as `easel models import` does. @param change which of its revisions, from 1 */
export async function importWorkflow(databaseUrl: string, checkpoint: string, change: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-chaos-workflow-'))
  const db = createDatabase(databaseUrl, { maxConnections: 1, onError: () => undefined })
  try {
    const workflow = withLora(LORAS[change % LORAS.length] as string, checkpoint, change / 1000)
    const path = join(directory, 'models.json')
    await writeFile(path, JSON.stringify([{ ...VERSION, credits_per_image: 2, workflow }]))
    await operatorModelStore(db).import(await readModelFile(path))
  } finally {
    await db.pool.end()
    await rm(directory, { recursive: true })
  }
}

interface Drawn {
  readonly tag: string
  readonly filename: string
  /** Of the LoRA in the revision that the generation names. */
  readonly strength: number
  readonly size: number
  /** Of its images, if there are any. */
  readonly images: readonly {
    readonly width: number
    readonly height: number
    readonly revision: string | null
    readonly is_same: boolean | null
  }[]
}

/** Generations of all revisions, and what is wrong with them: each is drawn with the one that it names. */
export async function workflowViolations(client: pg.Client, runs: readonly GpuRun[]) {
  const { rows } = await client.query<Drawn>(
    `SELECT split_part(g.prompt, ' ', 3) AS tag, g.filename, g.width AS size,
            (d.document::jsonb #>> '{graph,10,inputs,strength_model}')::float8 AS strength,
            (SELECT coalesce(json_agg(json_build_object('width', i.width, 'height', i.height,
                      'revision', i.made_with #>> '{definition,name}',
                      'is_same', i.made_with #>> '{definition,hash}' = d.hash)), '[]')
               FROM images i WHERE i.generation_id = g.id) AS images
       FROM generations g JOIN model_definitions d USING (filename)`,
  )
  const found: Violation[] = []
  for (const { tag, filename, size, images } of rows)
    for (const { width, height, revision, is_same } of images) {
      if (revision !== filename || !is_same)
        found.push({ invariant: 'workflow', what: `${tag} names ${filename}, its image ${revision}` })
      if (width !== size * WORKFLOW_SCALE || height !== size * WORKFLOW_SCALE)
        found.push({ invariant: 'I10', what: `${tag} has an image of ${width} × ${height} pixels` })
    }
  const ordered = new Map(rows.map(({ tag, strength }) => [tag, strength]))
  for (const { tag, gpu, strength } of runs)
    if (strength !== ordered.get(tag))
      found.push({
        invariant: 'workflow',
        what: `host ${gpu} drew ${tag} with the LoRA at ${strength} instead of ${ordered.get(tag)}`,
      })
  return { found, drawn: rows.filter(({ images }) => images.length > 0).map(({ filename }) => filename) }
}

/** An attempt is sent to a ComfyUI host once, whatever becomes of the answer: a second time would be drawn twice. */
export function drawnTwice(runs: readonly GpuRun[]): Violation[] {
  const seen = new Set<string>()
  return runs.flatMap(({ attempt, tag, gpu }) => {
    const again = attempt !== undefined && seen.has(attempt)
    if (attempt !== undefined) seen.add(attempt)
    return again ? [{ invariant: 'workflow', what: `host ${gpu} drew the attempt ${attempt} of ${tag} twice` }] : []
  })
}
