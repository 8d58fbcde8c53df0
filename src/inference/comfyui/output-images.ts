import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { InferredImage } from '../../generation/run/backend.js'
import { type Bad, badOutput } from '../backend-failure.js'
import { requireSize } from '../drawn-image.js'
import type { ServerHttp } from '../server-http.js'
import { replyFailure } from '../server-reply.js'
import type { Graph } from './graph.js'
import { askPatiently, type Patience } from './patience.js'
import { type HistoryEntry, savedFiles } from './prompt-history.js'
import type { Asked } from './prompt-submission.js'

const ranPrompt = z
  .tuple([z.unknown(), z.unknown(), z.record(z.string(), z.object({ inputs: z.unknown() }))])
  .rest(z.unknown())

/** Downloads a prompt's images. @throws BackendError `bad_output` if they are not exactly what was asked */
export async function fetchImages(
  http: ServerHttp,
  entry: HistoryEntry,
  { graph, request, version }: Asked,
  { patience, stop }: { readonly patience: Patience; readonly stop: AbortSignal },
): Promise<InferredImage[]> {
  const bad = badOutput(http.name)
  requireSameGraph(entry, graph, bad)
  const { name: sampler, schedule: scheduler = null } = graph.sampler
  const madeWith = { backend: 'comfyui', version, sampler, scheduler }
  const files = graph.images.map(({ seed, saveNode }) => {
    const [file, ...others] = savedFiles(entry.outputs[saveNode])
    if (!file || others.length > 0) throw bad(`saved ${file ? 1 + others.length : 0} files for one image`)
    return { seed, path: `/view?${new URLSearchParams(file)}` }
  })
  return Promise.all(
    files.map(async ({ seed, path }) => {
      const bytes = await askPatiently(http.name, patience, stop, async (signal) => {
        const { status, bytes } = await http.download(path, signal)
        if (status !== 200 && status !== 404) throw replyFailure(http.name, status, '')
        return status === 200 ? bytes : undefined
      })
      if (!bytes) throw bad('no longer has an image that it saved')
      await requireSize(bytes, request, bad)
      return { bytes, seed, madeWith }
    }),
  )
}

/** Extensions may change a prompt before it runs; the history has the one that ran. */
function requireSameGraph({ prompt }: HistoryEntry, { nodes }: Graph, bad: Bad): void {
  const ran = ranPrompt.safeParse(prompt).data?.[2]
  if (!ran) return
  for (const [id, { class_type, inputs }] of Object.entries(nodes))
    if (!isDeepStrictEqual(ran[id]?.inputs, inputs)) throw bad(`ran a ${class_type} with other settings`)
}
