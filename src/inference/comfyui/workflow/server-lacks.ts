/** Whether a server can draw with a workflow. */
import { type NodeClass, slashed } from '../node-classes.js'
import { FILE, nestedFiles, nestedNames, withFiles } from './nested-files.js'
import { numberOf } from './node-values.js'
import type { WorkflowDocument } from './workflow-definition.js'
import { keyOf, named, shown, type WorkflowGraph, type WorkflowNode, wireOf } from './workflow-graph.js'

/** Null for a class that the server does not have; undefined where that is not known now. */
export type ClassOf = (name: string) => NodeClass | null | undefined

/** The classes that a workflow needs, with the one that keeps the image and those that list its files. */
export const classesOf = ({ graph }: WorkflowDocument): string[] => [
  'PreviewImage',
  ...Object.values(graph).flatMap((node) => [node.class_type, ...loadersOf(node)]),
]

/** Which of ComfyUI's own nodes lists the files of a folder, by the words with which others name one of them. */
const LOADERS: readonly (readonly [words: RegExp, loader: string, input: string])[] = [
  [/lora/i, 'LoraLoader', 'lora_name'],
  [/ckpt|checkpoint/i, 'CheckpointLoaderSimple', 'ckpt_name'],
  [/control_?net/i, 'ControlNetLoader', 'control_net_name'],
  [/unet|diffusion_?model/i, 'UNETLoader', 'unet_name'],
  [/upscale/i, 'UpscaleModelLoader', 'model_name'],
  [/clip_?vision/i, 'CLIPVisionLoader', 'clip_name'],
  [/clip|text_?encoder/i, 'CLIPLoader', 'clip_name'],
  [/vae/i, 'VAELoader', 'vae_name'],
]

/** The nearest word tells: that of the field in the object, then that of the input, then that of the class. */
const loaderOf = (...names: readonly string[]) =>
  names.map((name) => LOADERS.find(([words]) => words.test(name))).find((it) => it !== undefined)

const loadersOf = ({ class_type, inputs }: WorkflowNode): string[] =>
  Object.entries(inputs).flatMap(([input, value]) =>
    typeof value === 'object' && !wireOf(value)
      ? [
          ...nestedFiles(value).flatMap(({ key }) => loaderOf(key, input, class_type)?.[1] ?? []),
          ...nestedNames(value).flatMap(({ key }) => (isLora(key, input, class_type) ? ['LoraLoader'] : [])),
        ]
      : [],
  )

/**
 * The workflow with the server's own spelling of files and the numbers that its nodes take, and what the server lacks, a sentence each. Undefined while not
 * all that is needed is known.
 */
export function fitted(document: WorkflowDocument, classOf: ClassOf) {
  if (classesOf(document).some((name) => classOf(name) === undefined)) return undefined
  const written = new Set([...document.binding.sampler, ...document.binding.scheduler].map(keyOf))
  const lacks: string[] = classOf('PreviewImage') ? [] : ['It has no node class "PreviewImage": update ComfyUI.']
  const graph: Record<string, WorkflowGraph[string]> = {}
  for (const [id, node] of Object.entries(document.graph)) {
    const its = classOf(node.class_type)
    if (!its) {
      lacks.push(
        `It has no node class "${shown(node.class_type)}", which ${named(document.graph, id)} needs: install the node pack that has it.`,
      )
      continue
    }
    const { required, choices, defaults } = chosen(its, node.inputs)
    const missing = required.filter((input) => !isGiven(node.inputs, input))
    for (const input of missing)
      if (!defaults.has(input))
        lacks.push(
          `Its ${named(document.graph, id)} needs ${shown(input)}, which the workflow does not have: export the workflow from this server's ComfyUI, and import it again.`,
        )
    const spelled = (input: string, value: unknown, listed: ReadonlyMap<string, string>): unknown => {
      const choice = listed.get(slashed(String(value))) ?? sameNumber(listed, value) ?? fileIn(listed, value)
      if (choice === undefined) lacks.push(lackOf(document.graph, id, input, value, [...listed.values()]))
      return choice ?? value
    }
    const files = (key: string, input: string) => filesAt(classOf, key, input, node.class_type)
    const withSpelling = (input: string, value: unknown): unknown => {
      const listed = choices.get(input)
      if (written.has(keyOf([id, input])) || wireOf(value)) return value
      if (listed?.size === 0 && isOwnChoice(node.inputs, input)) return value
      // ComfyUI's editor wraps a list, which would else be a wire.
      if (listed && isWrapped(value)) return { __value__: withSpelling(input, value.__value__) }
      // Several may be chosen of one list.
      if (listed && Array.isArray(value)) return value.map((it) => spelled(input, it, listed))
      if (listed) return spelled(input, value, listed)
      for (const { key, file: name } of nestedNames(value)) {
        const loras = isLora(key, input, node.class_type) ? files(key, input) : undefined
        if (loras && !hasLora(loras, name)) lacks.push(lackOf(document.graph, id, input, name, [...loras.values()]))
      }
      return withFiles(value, (key, file) =>
        spelled(input, file, files(key, input) ?? new Map([[slashed(file), file]])),
      )
    }
    const inputs = [
      ...Object.entries(node.inputs).map(([input, value]) => [input, withSpelling(input, value)]),
      // As the editor would fill them in: a newer version of the node may have more inputs.
      ...missing.flatMap((input) => (defaults.has(input) ? [[input, defaults.get(input)]] : [])),
    ]
    graph[id] = { ...node, inputs: Object.fromEntries(inputs) }
  }
  const { seed, steps, cfg, width, height } = document.binding
  const ranges = new Map(
    [...seed, ...steps, ...cfg, ...width, ...height].flatMap(([id, input]) => {
      const range = classOf(graph[id]?.class_type ?? '')?.ranges.get(input)
      return range ? [[keyOf([id, input]), range] as const] : []
    }),
  )
  return { workflow: { ...document, graph, ranges }, lacks }
}

/** The files that the server lists for a field in an object. */
function filesAt(classOf: ClassOf, ...names: readonly [key: string, input: string, name: string]) {
  const [, loader, at] = loaderOf(...names) ?? []
  return loader && at ? classOf(loader)?.choices.get(at) : undefined
}

const isLora = (...names: readonly string[]) => loaderOf(...names)?.[1] === 'LoraLoader'

/** By its name without a folder, if only one has it. */
function fileIn(listed: ReadonlyMap<string, string>, value: unknown): string | undefined {
  if (typeof value !== 'string' || !FILE.test(value) || /[\\/]/.test(value)) return undefined
  const [own, another] = [...listed].flatMap(([path, own]) => (path.endsWith(`/${value}`) ? [own] : []))
  return another === undefined ? own : undefined
}

const hasLora = (listed: ReadonlyMap<string, string>, name: string): boolean =>
  [...listed.keys()].some((path) => `/${path.replace(FILE, '')}`.endsWith(`/${slashed(name)}`))

const isWrapped = (value: unknown): value is { readonly __value__: unknown } =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, '__value__')

/** What a node needs and may choose from, with what depends on what it has chosen. */
function chosen(
  its: NodeClass,
  inputs: Readonly<Record<string, unknown>>,
): Pick<NodeClass, 'required' | 'choices' | 'defaults'> {
  const inner = [...its.branches].flatMap(([input, options]) => {
    const branch = options.get(String(inputs[input]))
    return branch ? [chosen(branch, inputs)] : []
  })
  return {
    required: [...its.required, ...inner.flatMap(({ required }) => required)],
    choices: new Map([...its.choices, ...inner.flatMap(({ choices }) => [...choices])]),
    defaults: new Map([...its.defaults, ...inner.flatMap(({ defaults }) => [...defaults])]),
  }
}

/** Newer nodes have inputs that grow; their names begin with its own and a dot. */
const isGiven = (inputs: object, input: string) =>
  Object.hasOwn(inputs, input) || Object.keys(inputs).some((name) => name.startsWith(`${input}.`))

/** Some nodes hold the choices of their list themselves, one at each of their other inputs. */
const isOwnChoice = (inputs: Readonly<Record<string, unknown>>, input: string) =>
  Object.entries(inputs).some(([name, it]) => name !== input && it === inputs[input])

const sameNumber = (choices: ReadonlyMap<string, string>, value: unknown) =>
  typeof value === 'number' ? [...choices.values()].find((choice) => numberOf(choice) === value) : undefined

const SHOWN_CHOICES = 5

/** Of thousands of files people look for the one that is in another folder, has another ending or another version. */
function alikeFirst(choices: readonly string[], value: string): readonly string[] {
  const nameOf = (path: string) =>
    slashed(path)
      .replace(/^.*\//, '')
      .replace(FILE, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, '')
  const wanted = nameOf(value)
  const isAlike = (choice: string) => {
    const name = nameOf(choice)
    return name !== '' && wanted !== '' && (name.startsWith(wanted) || wanted.startsWith(name))
  }
  return [...choices.filter(isAlike), ...choices.filter((it) => !isAlike(it))]
}

function lackOf(graph: WorkflowGraph, id: string, input: string, value: unknown, choices: readonly string[]): string {
  const has = alikeFirst(choices, String(value)).slice(0, SHOWN_CHOICES).map(shown).join(', ') || 'nothing'
  const more = choices.length > SHOWN_CHOICES ? ` and ${choices.length - SHOWN_CHOICES} more` : ''
  // What is no file came with a newer ComfyUI, or with a newer node pack.
  const isFile = /\.[a-z]\w*$/i.test(String(value)) || choices.some((it) => FILE.test(it))
  const mend = isFile ? 'put that file where the server looks for it' : 'update ComfyUI and its node packs'
  return `It has no "${shown(String(value))}" for ${shown(input)} of ${named(graph, id)}: ${mend}, or choose another in the workflow; it has ${has}${more}.`
}
