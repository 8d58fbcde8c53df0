import { isStorable, storable } from '../../../lib/text.js'
import { shown, type WorkflowGraph, type WorkflowNode, WorkflowProblem } from './workflow-graph.js'

// Far more than anybody draws: the largest of a few hundred public workflows has some 200 nodes and 0.2 MB.
const MAX_BYTES = 10_000_000
const MAX_NODES = 5_000
const MAX_INPUTS = 500
const MAX_DEPTH = 32
/** Of ids, classes and inputs; of a title no more is read. Patterns look for words in all of them. The longest public one has some 80 letters. */
const MAX_NAME = 500

const EXPORT =
  'in ComfyUI, choose "Export (API)" in the menu, which older versions call "Save (API Format)" and show once the dev mode is on in the settings, and bring that file'

/**
 * Reads the text of a file in ComfyUI's API format; `{"prompt": {…}}`, as the server takes it, is the same.
 * @throws WorkflowProblem
 */
export function readWorkflow(source: string): WorkflowGraph {
  if (source.length > MAX_BYTES || Buffer.byteLength(source) > MAX_BYTES)
    throw new WorkflowProblem(
      `The workflow has more than ${MAX_BYTES / 1e6} MB: remove embedded images and other data from its nodes, then export it again.`,
    )
  const nodes = Object.entries(nodesIn(parsed(source)))
  if (nodes.length === 0) throw new WorkflowProblem(`The workflow has no nodes: ${EXPORT}.`)
  if (nodes.length > MAX_NODES)
    throw new WorkflowProblem(
      `The workflow has ${nodes.length} nodes, and at most ${MAX_NODES} are taken: remove what the image does not need, then export it again.`,
    )
  // Object.fromEntries makes an own property even of `__proto__`.
  return Object.fromEntries(nodes.map(([id, value]) => [id, nodeOf(id, value)]))
}

/** How a picture begins that was read as text. ComfyUI writes the workflow into what it saves. */
const PICTURE = /^(\ufffdPNG|\ufffd{3}|RIFF.{4}WEBP|GIF8)/su
/** Text in another encoding was read as if it were UTF-8. */
const OTHER_ENCODING = /^\ufffd|^.?\0/u

function parsed(source: string): unknown {
  if (PICTURE.test(source))
    throw new WorkflowProblem(
      'The workflow is a picture: drop it onto ComfyUI, which opens the workflow that is in it, then choose "Export (API)" in the menu and bring that file.',
    )
  if (OTHER_ENCODING.test(source))
    throw new WorkflowProblem('The workflow is not text in UTF-8: save it in that encoding.')
  try {
    return JSON.parse(source.replace(/^\ufeff/, ''))
  } catch {
    throw new WorkflowProblem(`The workflow is not JSON: ${EXPORT}.`)
  }
}

/** The fields in which other programs send a graph: ComfyUI's own request and history, RunPod's, Replicate's, Salad's. */
const WRAPPERS = ['prompt', 'input', 'workflow', 'workflow_json', 'workflow_api', 'output', 'graph', 'api', 'body']
const MAX_WRAPPERS = 5

const isGraph = (value: unknown): value is object =>
  isRecord(value) && Object.values(value).some((it) => isRecord(it) && Object.hasOwn(it, 'class_type'))
const isDrawing = (value: unknown): value is object => isRecord(value) && Array.isArray(value.nodes)

/** The first of its kind in what other programs wrap it in, some of which write JSON into a text. */
function within(root: unknown, isIt: (value: unknown) => value is object, depth = 0): object | undefined {
  if (isIt(root)) return root
  if (depth > MAX_WRAPPERS) return undefined
  if (typeof root === 'string') return /^\s*\{/.test(root) ? within(jsonOf(root), isIt, depth + 1) : undefined
  if (!isRecord(root) && !Array.isArray(root)) return undefined
  const entries = Object.entries(root)
  const [only] = entries.length === 1 ? entries : []
  const inner = Array.isArray(root)
    ? root
    : only
      ? [only[1]]
      : WRAPPERS.map((name) => Object.hasOwn(root, name) && root[name])
  for (const value of inner) {
    const found = within(value, isIt, depth + 1)
    if (found) return found
  }
  return undefined
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a file is a workflow, in whatever form, rather than something else of JSON. */
export const isWorkflow = (value: unknown): boolean => [isGraph, isDrawing].some((isIt) => within(value, isIt))

function nodesIn(root: unknown): object {
  const graph = within(root, isGraph)
  if (graph) return graph
  if (within(root, isDrawing))
    throw new WorkflowProblem(`The workflow is in the format of ComfyUI's editor, which cannot be drawn: ${EXPORT}.`)
  if (!isRecord(root)) throw new WorkflowProblem(`The workflow is not an object of nodes: ${EXPORT}.`)
  return Object.hasOwn(root, 'prompt') && isRecord(root.prompt) ? root.prompt : root
}

function nodeOf(id: string, value: unknown): WorkflowNode {
  const at = `Node ${shown(id) || '""'}`
  if (id.length > MAX_NAME) throw tooLong(at, 'id')
  if (!isStorable(id)) throw new WorkflowProblem(`${at} has an id with characters that are not text: ${EXPORT}.`)
  // Other programs wrap the graph in requests of their own.
  if (!isRecord(value) || !(Object.hasOwn(value, 'class_type') || Object.hasOwn(value, 'inputs')))
    throw new WorkflowProblem(`${at} is not a node: remove it from the file, or, ${EXPORT}.`)
  const { class_type, inputs, _meta } = value
  const title =
    isRecord(_meta) && typeof _meta.title === 'string' ? storable(_meta.title.slice(0, MAX_NAME)) : undefined
  if (typeof class_type !== 'string' || class_type === '')
    throw new WorkflowProblem(
      `${at}${title ? `, "${shown(title)}",` : ''} has no class_type, because the ComfyUI that exported it does not have that node: install the missing node there, then export the workflow again.`,
    )
  if (class_type.length > MAX_NAME) throw tooLong(at, 'class_type')
  if (!isStorable(class_type)) throw new WorkflowProblem(`${at} has a class_type that is not text: ${EXPORT}.`)
  if (!isRecord(inputs)) throw new WorkflowProblem(`${at} (${shown(class_type)}) has no inputs: ${EXPORT}.`)
  const count = Object.keys(inputs).length
  if (count > MAX_INPUTS)
    throw new WorkflowProblem(
      `${at} (${shown(class_type)}) has ${count} inputs, and at most ${MAX_INPUTS} are taken: divide it in ComfyUI and export the workflow again.`,
    )
  if (Object.keys(inputs).some((input) => input.length > MAX_NAME))
    throw tooLong(`${at} (${shown(class_type)})`, 'name of an input')
  for (const [input, it] of Object.entries(inputs)) checkValue(`${at} (${shown(class_type)})`, input, it)
  return { class_type, inputs, ...(title === undefined ? {} : { _meta: { title } }) }
}

const tooLong = (at: string, what: string) =>
  new WorkflowProblem(
    `${at} has a ${what} of more than ${MAX_NAME} characters: shorten it in ComfyUI and export the workflow again.`,
  )

/** Not recursive: a value may be nested a million times. */
function checkValue(at: string, input: string, value: unknown): void {
  const open: [unknown, number][] = [
    [input, 0],
    [value, 0],
  ]
  for (let next = open.pop(); next; next = open.pop()) {
    const [it, depth] = next
    if (depth > MAX_DEPTH)
      throw new WorkflowProblem(`${at} has a value at ${shown(input)} that is nested too deeply: make it simpler.`)
    if (typeof it === 'string' && !isStorable(it))
      throw new WorkflowProblem(
        `${at} has characters at ${shown(input)} that are not text: type the value again in ComfyUI and export the workflow.`,
      )
    if (typeof it !== 'object' || it === null) continue
    for (const [key, inner] of Object.entries(it)) open.push([key, depth + 1], [inner, depth + 1])
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
