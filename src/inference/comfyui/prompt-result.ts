import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { InferenceRequest } from '../../core/generations/run/backend.js'
import { linkedSignal, withTimeLimit } from '../../lib/abort-signals.js'
import { type Bad, badOutput, failure } from '../backend-failure.js'
import { requireSize } from '../drawn-image.js'
import { saysOutOfMemory } from '../out-of-memory.js'
import { publicWords, replyFailure } from '../server-reply.js'
import type { ComfyuiAsked, Graph } from './graph.js'
import { askPatiently, type HistoryEntry, type Patience, type SavedFile, savedFiles } from './prompt-history.js'

const graphNodes = z.record(z.string(), z.object({ inputs: z.unknown() }))
const ranPrompt = z.tuple([z.unknown(), z.unknown(), graphNodes], z.unknown())

/** An image takes longer than an answer. */
const DOWNLOAD_MS = 60_000

/** Downloads a prompt's images. @throws BackendError `bad_output` if they are not exactly what was asked */
export async function fetchImages(
  entry: HistoryEntry,
  asked: ComfyuiAsked,
  downloads: ReturnType<typeof createDownloads>,
) {
  const { http, graph, request, server, sampler } = asked
  const bad = badOutput(http.name)
  requireSameGraph(entry, graph, bad)
  const drawnWith = { sampler: sampler.name, scheduler: sampler.schedule ?? null }
  const madeWith = { backend: 'comfyui', version: server.version, ...drawnWith }
  const saved = graph.images.map(({ seed, saveNode }) => {
    const [file, ...others] = savedFiles(entry.outputs[saveNode])
    if (!file || others.length > 0) throw bad(`saved ${file ? 1 + others.length : 0} files for one image`)
    return { seed, saveNode, file }
  })
  return Promise.all(
    saved.map(async ({ seed, saveNode, file }) => {
      const bytes = await downloads.bytesOf(saveNode, file)
      if (!bytes) throw bad('no longer has an image that it saved')
      await requireSize(bytes, request, bad)
      return { bytes, seed, madeWith }
    }),
  )
}

/**
 * Downloads a prompt's files. `beginEarly` does so as soon as an event tells of one, before the history says so; it tries
 * once. `end` ends what nobody waits for.
 */
export function createDownloads({ http, graph }: ComfyuiAsked, stop: AbortSignal, patience: Patience) {
  const ended = new AbortController()
  const { signal, clear } = linkedSignal([stop, ended.signal])
  const download = async (path: string, limited: AbortSignal) => {
    const { status, bytes } = await http.download(path, limited)
    if (status !== 200 && status !== 404) throw replyFailure(http.name, status)
    return status === 200 ? bytes : undefined
  }
  // One for each image, whatever a server says.
  const early = new Map<string, { readonly path: string; readonly bytes: Promise<Buffer | undefined> }>()
  return {
    beginEarly(node: unknown, output: unknown): void {
      const [file] = savedFiles(output)
      const image = graph.images.find(({ saveNode }) => saveNode === node)
      if (!file || !image || early.has(image.saveNode)) return
      const path = pathOf(file)
      const bytes = withTimeLimit(signal, DOWNLOAD_MS, (limited) => download(path, limited)).catch(() => undefined)
      early.set(image.saveNode, { path, bytes })
    },
    /** Undefined if the server does not have the file. */
    async bytesOf(saveNode: string, file: SavedFile): Promise<Buffer | undefined> {
      const path = pathOf(file)
      const begun = early.get(saveNode)
      const bytes = begun?.path === path ? await begun.bytes : undefined
      const patient = { ...patience, answerMs: DOWNLOAD_MS }
      return bytes ?? (await askPatiently(http.name, patient, signal, (limited) => download(path, limited)))
    },
    end() {
      ended.abort()
      clear()
    },
  }
}

const pathOf = (file: SavedFile) => `/view?${new URLSearchParams(file)}`

/** Extensions may change a prompt before it runs; the history has the one that ran. */
function requireSameGraph({ prompt }: HistoryEntry, { nodes }: Graph, bad: Bad): void {
  const ran = ranPrompt.safeParse(prompt).data?.[2]
  if (!ran) return
  for (const [id, { class_type, inputs }] of Object.entries(nodes))
    if (!isDeepStrictEqual(ran[id]?.inputs, inputs)) throw bad(`ran a ${class_type} with other settings`)
}

const text = z.string().catch('')
const executionError = z.object({ node_type: text, exception_type: text, exception_message: text })

/** The error of a prompt that ran and did not succeed. */
export function endFailure(server: string, request: InferenceRequest, { status }: HistoryEntry) {
  const error = status.messages.find(([type]) => type === 'execution_error')
  if (error) return executionFailure(server, request, error[1])
  const interrupted = status.messages.some(([type]) => type === 'execution_interrupted')
  return failure('backend_fault', `${server} ${interrupted ? 'was interrupted by someone else' : 'failed to say why'}`)
}

/** The file is missing, cannot be read, is damaged or holds something else. Other errors may befall any checkpoint. */
const NO_CHECKPOINT = new RegExp(
  [
    'SafetensorError|UnpicklingError|BadZipFile|EOFError|UnicodeDecodeError|struct.error|KeyError|Header(TooLarge|TooSmall)',
    'FileNotFoundError|No such file|IsADirectoryError|PermissionError|(file|model|checkpoint)\\b.* (not found|does not exist)',
    'could not detect model type|not a (valid )?(checkpoint|model)|corrupt|truncated|invalid (load key|header|magic)',
    'PytorchStreamReader|Weights only load failed|Error\\(s\\) in loading state_dict|size mismatch|Ran out of input',
    'unexpected (end|EOF)|incomplete metadata|deserializing',
  ].join('|'),
  'i',
)

/** The error of an `execution_error`; `data` is the event's. */
export function executionFailure(server: string, request: InferenceRequest, data: Record<string, unknown>) {
  const { node_type: node, exception_type: type, exception_message: message } = executionError.parse(data)
  const noSuchPart = /^ERROR: (clip input|VAE) is invalid/i.test(message)
  // An error while encoding a text may repeat the text.
  const words = node === 'CLIPTextEncode' && !noSuchPart ? '' : (message.trim().split('\n')[0] ?? '')
  const shown = publicWords(words, request)
  const said = `${server} failed in ${node}: ${type}${shown && `: ${shown}`}`
  if (saysOutOfMemory(`${type}: ${message}`)) return failure('oom', said)
  // A damaged file, or one without a text encoder or a decoder, is no checkpoint, although it is listed.
  const isOfFile = node === 'CheckpointLoaderSimple' && NO_CHECKPOINT.test(`${type}: ${message}`)
  if (isOfFile || noSuchPart) return failure('model_missing', said)
  return failure('backend_fault', said)
}
