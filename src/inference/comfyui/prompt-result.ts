import { isDeepStrictEqual } from 'node:util'
import sharp from 'sharp'
import { z } from 'zod'
import { BackendError } from '../../core/generations/run/backend.js'
import { decodable } from '../../core/images/image-bytes.js'
import { linkedSignal, withTimeLimit } from '../../lib/abort-signals.js'
import { type Bad, badOutput, failure } from '../backend-failure.js'
import { requireSize } from '../drawn-image.js'
import { saysOutOfMemory } from '../out-of-memory.js'
import { publicWords, replyFailure } from '../server-reply.js'
import type { ComfyuiAsked } from './graph.js'
import { askPatiently, type HistoryEntry, type Patience, type SavedFile, savedFiles } from './prompt-history.js'
import { needsOf } from './workflow/requirements.js'

const graphNodes = z.record(z.string(), z.object({ inputs: z.record(z.string(), z.unknown()) }))
const ranPrompt = z.tuple([z.unknown(), z.unknown(), graphNodes], z.unknown())

/** An image takes longer than an answer. */
const DOWNLOAD_MS = 60_000

/** Downloads a prompt's images. @throws BackendError `bad_output` if they are not exactly what was asked */
export async function fetchImages(
  entry: HistoryEntry,
  asked: ComfyuiAsked,
  downloads: ReturnType<typeof createDownloads>,
) {
  const { http, graph, request, server } = asked
  const bad = badOutput(http.name)
  requireSameGraph(entry, asked, bad)
  const madeWith = { backend: 'comfyui', version: server.version, ...drawnWith(asked) }
  const scale = 'workflow' in asked.model ? asked.model.workflow.scale : 1
  const saved = graph.images.map(({ seed, saveNode }) => {
    const [file, ...others] = savedFiles(entry.outputs[saveNode])
    if (!file || others.length > 0) throw bad(`saved ${file ? 1 + others.length : 0} files for one image`)
    return { seed, saveNode, file }
  })
  const isWorkflow = 'workflow' in asked.model
  const images = await Promise.all(
    saved.map(async ({ seed, saveNode, file }) => {
      const bytes = await downloads.bytesOf(saveNode, file)
      if (!bytes) throw bad('no longer has an image that it saved')
      const otherSize = isWorkflow ? (what: string) => eachTime(http.name, what) : bad
      const { width, height } = await requireSize(bytes, request, bad, scale, otherSize)
      return { bytes, seed, madeWith, size: { width, height } }
    }),
  )
  const [first, ...others] = images
  const isRepeated = first && others.some(({ seed, bytes }) => seed !== first.seed && bytes.equals(first.bytes))
  // Black ones are the same, too: there the numbers overflowed, or a filter went off, which may not be so each time.
  if (isWorkflow && isRepeated && !(await isOneColour(first.bytes)))
    throw eachTime(http.name, 'drew the same image for several seeds')
  return images
}

async function isOneColour(bytes: Buffer): Promise<boolean> {
  const { channels } = await sharp(decodable(bytes)).stats()
  return channels.every(({ min, max }) => min === max)
}

/** What a workflow does whenever it is drawn. Another server may have other nodes. */
export const eachTime = (server: string, what: string) =>
  new BackendError(
    'invalid_request',
    `${server} ${what}: the workflow does so each time, and must be corrected`,
    'This model is not set up correctly and cannot be drawn with these settings.',
  )

/** The sampler is the workflow's own where it cannot be chosen. */
function drawnWith({ model, sampler }: ComfyuiAsked) {
  const chosen = { sampler: sampler.name, scheduler: sampler.schedule ?? null }
  if (!('workflow' in model)) return chosen
  return model.workflow.binding.sampler.length > 0 ? chosen : model.workflow.drawnWith
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

/**
 * Extensions may change a prompt before it runs; the history has the one that ran. Of a workflow only what we wrote
 * counts: the server casts what is in the file.
 */
function requireSameGraph({ prompt }: HistoryEntry, { graph, model }: ComfyuiAsked, bad: Bad): void {
  const ran = ranPrompt.safeParse(prompt).data?.[2]
  if (!ran) return
  const isOurs = new Set(graph.written.map((slot) => JSON.stringify(slot)))
  const ours = (id: string, inputs: Readonly<Record<string, unknown>> = {}) =>
    Object.entries(inputs).flatMap(([input, value]) =>
      isOurs.has(JSON.stringify([id, input])) ? [input, `${value}`] : [],
    )
  for (const [id, { class_type, inputs }] of Object.entries(graph.nodes)) {
    const compared = 'workflow' in model ? [ours(id, inputs), ours(id, ran[id]?.inputs)] : [inputs, ran[id]?.inputs]
    if (!isDeepStrictEqual(...(compared as [unknown, unknown]))) throw bad(`ran a ${class_type} with other settings`)
  }
}

const text = z.string().catch('')
const executionError = z.object({ node_type: text, exception_type: text, exception_message: text })

/** The error of a prompt that ran and did not succeed. */
export function endFailure(asked: ComfyuiAsked, { status }: HistoryEntry) {
  const server = asked.http.name
  const error = status.messages.find(([type]) => type === 'execution_error')
  if (error) return executionFailure(asked, error[1])
  const interrupted = status.messages.some(([type]) => type === 'execution_interrupted')
  return failure('backend_fault', `${server} ${interrupted ? 'was interrupted by someone else' : 'failed to say why'}`)
}

/** Whether nodes of that class may repeat a subscriber's text in an error. */
export const readsText = (nodeClass: string) => /text|prompt|string|encode|condition/i.test(nodeClass)

const loadsFile = (nodes: ComfyuiAsked['graph']['nodes'], nodeClass: string) =>
  needsOf(nodes).files.some((file) => file.class === nodeClass)

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

/** A node does not get what it needs, such as what the editor alone sends, or its pack lacks a part: the same inputs have the same end. */
const EACH_TIME =
  /^(ValueError|TypeError|IndexError|KeyError|AttributeError|NameError|UnboundLocalError|AssertionError|NotImplementedError|ZeroDivisionError|ImportError|ModuleNotFoundError)\b|shapes cannot be multiplied|sizes of tensors must match|must match the size of tensor|to have \d+ channels|Please log ?in first/i

/** The error of an `execution_error`; `data` is the event's. */
export function executionFailure({ http, request, graph, model }: ComfyuiAsked, data: Record<string, unknown>) {
  const server = http.name
  const { node_type: node, exception_type: type, exception_message: message } = executionError.parse(data)
  const noSuchPart = /^ERROR: (clip input|VAE) is invalid/i.test(message)
  // An error while encoding a text may repeat the text.
  const words = readsText(node) && !noSuchPart ? '' : (message.trim().split('\n')[0] ?? '')
  const shown = publicWords(words, request)
  const said = `${server} failed in ${node}: ${type}${shown && `: ${shown}`}`
  if (saysOutOfMemory(`${type}: ${message}`)) return failure('oom', said)
  // A damaged file, or one without a text encoder or a decoder, is no checkpoint, although it is listed.
  const isOfFile =
    (node === 'CheckpointLoaderSimple' || loadsFile(graph.nodes, node)) && NO_CHECKPOINT.test(`${type}: ${message}`)
  if (isOfFile || noSuchPart) return failure('model_missing', said)
  if ('workflow' in model && EACH_TIME.test(`${type}: ${message}`))
    return eachTime(server, said.slice(server.length + 1))
  return failure('backend_fault', said)
}
