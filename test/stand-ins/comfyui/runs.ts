import { setTimeout as delay } from 'node:timers/promises'
import type { RunFault, StandInSettings } from './faults.js'
import { drawImage } from './images.js'
import { above, OUTPUT_NODES, type Prompt, type PromptNode } from './nodes.js'

/** A prompt in the queue. */
export interface QueuedPrompt {
  readonly number: number
  readonly id: string
  readonly prompt: Prompt
  readonly clientId: string | undefined
  /** As the server shows it in its queue; with the client. */
  readonly extraData: object
  readonly outputs: readonly string[]
}

type Message = [type: string, data: Record<string, unknown>]
/** To the client whose prompt it is, or to all. */
export type Send = (type: string, data: Record<string, unknown>, to: 'client' | 'all') => void

export interface RunResult {
  readonly outputs: Record<string, object>
  readonly status: { status_str: 'success' | 'error'; completed: boolean; messages: Message[] }
}

const EXCEPTIONS: Partial<Record<Extract<RunFault, string>, readonly [node: string, type: string, message: string]>> = {
  out_of_memory: [
    'KSampler',
    'torch.OutOfMemoryError',
    'Allocation on device 0 would exceed allowed memory. (out of memory)\nThis error means you ran out of memory on your GPU.\n\nTIPS: If the workflow worked before you might have accidentally set the batch_size to a large number.',
  ],
  corrupt_checkpoint: [
    'CheckpointLoaderSimple',
    'safetensors._safetensors_rust.SafetensorError',
    'Error while deserializing header: header too large\n',
  ],
  no_text_encoder: [
    'CLIPTextEncode',
    'RuntimeError',
    'ERROR: clip input is invalid: None\n\nIf the clip is from a checkpoint loader node your checkpoint does not contain a valid clip or text encoder model.',
  ],
  exception: ['VAEDecode', 'RuntimeError', 'cuDNN error: CUDNN_STATUS_INTERNAL_ERROR\n'],
}

/** Of a link, `[id, output]`. */
const idOf = (link: unknown): string => String((link as unknown[])[0])
const linked = (prompt: Prompt, node: PromptNode | undefined, input: string): PromptNode =>
  prompt[idOf(node?.inputs[input])] as PromptNode

/** Of the image that a node makes. */
function sizeOf(prompt: Prompt, node: PromptNode): readonly [width: number, height: number] {
  if (node.class_type === 'ImageScaleBy') {
    const [width, height] = sizeOf(prompt, linked(prompt, node, 'image'))
    const by = Number(node.inputs.scale_by)
    return [Math.round(width * by), Math.round(height * by)]
  }
  const { inputs } = linked(prompt, linked(prompt, node, 'samples'), 'latent_image')
  return [Math.floor(Number(inputs.width) / 8) * 8, Math.floor(Number(inputs.height) / 8) * 8]
}

/** Runs prompts one at a time, as the executor does: what the last one had computed is not computed again. */
export function createExecutor(settings: StandInSettings, files: Map<string, Buffer>) {
  let cache = new Map<string, unknown>()

  /** All that a node's output depends on. */
  const keyOf = (prompt: Prompt, id: string): string => {
    const { class_type, inputs } = prompt[id] as PromptNode
    const deep = Object.entries(inputs).map(([name, value]) =>
      Array.isArray(value) ? [name, keyOf(prompt, idOf(value)), value[1]] : [name, value],
    )
    return JSON.stringify([class_type, deep])
  }

  return async function run(queued: QueuedPrompt, send: Send, interrupted: AbortSignal): Promise<RunResult> {
    const { id: prompt_id, prompt } = queued
    const messages: Message[] = []
    const outputs: Record<string, object> = {}
    const note = (type: string, data: Record<string, unknown>, to: 'client' | 'all' = 'client') => {
      const dated = { ...data, prompt_id, timestamp: Date.now() }
      messages.push([type, dated])
      send(type, dated, to)
    }
    const ended = (status_str: 'success' | 'error'): RunResult => ({
      outputs,
      status: { status_str, completed: status_str === 'success', messages },
    })
    note('execution_start', {})
    const fresh = new Map<string, unknown>()
    const cached = Object.keys(prompt).filter((id) => cache.has(keyOf(prompt, id)))
    note('execution_cached', { nodes: cached })
    // Not in the order in which they were asked for.
    const order = new Set([...queued.outputs].reverse().flatMap((output) => [...above(prompt, output)]))
    for (const id of order) {
      const node = prompt[id] as PromptNode
      const key = keyOf(prompt, id)
      if (!cache.has(key)) {
        send('executing', { node: id, display_node: id, prompt_id }, 'client')
        const error = exceptionIn(node)
        if (error) {
          const [exception_type, exception_message] = error
          const details = {
            executed: [],
            traceback: ['  File "/srv/ComfyUI/execution.py"'],
            current_inputs: node.inputs,
          }
          note('execution_error', {
            node_id: id,
            node_type: node.class_type,
            exception_type,
            exception_message,
            ...details,
          })
          return ended('error')
        }
        if (node.class_type === 'KSampler' && !(await sample(id, node, prompt_id, send, interrupted))) {
          note('execution_interrupted', { node_id: id, node_type: 'KSampler', executed: [] }, 'all')
          return ended('error')
        }
      }
      fresh.set(
        key,
        cache.get(key) ?? (OUTPUT_NODES.includes(node.class_type) ? { images: await save(prompt, id) } : true),
      )
      if (!OUTPUT_NODES.includes(node.class_type)) continue
      outputs[id] = fresh.get(key) as object
      send('executed', { node: id, display_node: id, output: outputs[id], prompt_id }, 'client')
    }
    cache = fresh
    note('execution_success', {})
    return ended('success')
  }

  function exceptionIn({ class_type, inputs }: PromptNode): readonly [string, string] | undefined {
    if (settings.run === 'text_exception' && class_type === 'CLIPTextEncode')
      return ['ValueError', `cannot encode '${String(inputs.text).split(' ').at(-1)}'`]
    const { run } = settings
    const [node, type, message] = typeof run === 'object' ? [run.node, run.type, run.message] : (EXCEPTIONS[run] ?? [])
    return node === class_type && type && message !== undefined ? [type, message] : undefined
  }

  /** Whether it came to its last step. */
  async function sample(id: string, { inputs }: PromptNode, prompt_id: string, send: Send, interrupted: AbortSignal) {
    const max = Number(inputs.steps)
    const tell = (value: number) => {
      const state = { value, max, state: 'running', node_id: id, prompt_id }
      send('progress_state', { prompt_id, nodes: { [id]: state } }, 'client')
      send('progress', { value, max, prompt_id, node: id }, 'client')
    }
    for (let value = 0; value < max; ) {
      const wait = settings.latencyMs / max
      if (wait > 0) await delay(wait, undefined, { signal: interrupted }).catch(() => undefined)
      while ((settings.held === true || settings.held === inputs.seed) && value >= max / 2 && !interrupted.aborted) {
        // Again and again: a client may not know yet that this is its prompt.
        tell(value)
        await delay(5)
      }
      if (interrupted.aborted) return false
      tell(++value)
    }
    return true
  }

  async function save(prompt: Prompt, id: string): Promise<object[]> {
    const { filename_prefix = 'ComfyUI_temp_stand', images } = (prompt[id] as PromptNode).inputs
    const type = (prompt[id] as PromptNode).class_type === 'SaveImage' ? 'output' : 'temp'
    const folders = String(filename_prefix).split('/')
    const [prefix, subfolder] = [folders.pop(), folders.join('/')]
    const step = settings.run === 'sizes_of_16' ? 16 : 1
    const [drawnWidth, height] = sizeOf(prompt, linked(prompt, prompt[id], 'images')).map(
      (side) => Math.floor(side / step) * step,
    ) as [number, number]
    // More than a scaled size may be rounded.
    const width = drawnWidth * (settings.run === 'wrong_size' ? 1.125 : 1)
    const key = settings.run === 'same_image' ? 'same' : keyOf(prompt, idOf(images))
    const bytes =
      settings.run === 'broken_image'
        ? Buffer.from('not an image')
        : await drawImage(width, height, settings.run === 'black_image' ? undefined : key, prompt)
    const count = { no_file: 0, two_files: 2 }[settings.run as string] ?? 1
    return Array.from({ length: count }, () => {
      const filename = `${prefix}_${String(files.size + 1).padStart(5, '0')}_.png`
      files.set([type, subfolder, filename].filter(Boolean).join('/'), bytes)
      return { filename, subfolder, type }
    })
  }
}
