/** Whether a server can draw with a workflow. */
import { type NodeClass, slashed } from '../node-classes.js'
import { numberOf } from './node-values.js'
import type { WorkflowDocument } from './workflow-definition.js'
import { named, type Slot, shown, type WorkflowGraph } from './workflow-graph.js'

/** Null for a class that the server does not have; undefined where that is not known now. */
export type ClassOf = (name: string) => NodeClass | null | undefined

/** The classes that a workflow needs, with the one that keeps the image. */
export const classesOf = ({ graph }: WorkflowDocument): string[] => [
  'PreviewImage',
  ...Object.values(graph).map(({ class_type }) => class_type),
]

/**
 * The workflow with the server's own spelling of files, and what the server lacks, a sentence each. Undefined while not
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
    for (const input of its.required)
      if (!isGiven(node.inputs, input))
        lacks.push(
          `Its ${named(document.graph, id)} needs ${shown(input)}, which the workflow does not have: export the workflow from this server's ComfyUI, and import it again.`,
        )
    const inputs = Object.entries(node.inputs).map(([input, value]) => {
      const choices = its.choices.get(input)
      if (!choices || Array.isArray(value) || written.has(keyOf([id, input]))) return [input, value]
      if (choices.size === 0 && isOwnChoice(node.inputs, input)) return [input, value]
      const choice = choices.get(slashed(String(value))) ?? sameNumber(choices, value)
      if (choice === undefined) lacks.push(lackOf(document.graph, id, input, value, [...choices.values()]))
      return [input, choice ?? value]
    })
    graph[id] = { ...node, inputs: Object.fromEntries(inputs) }
  }
  return { workflow: { ...document, graph }, lacks }
}

const keyOf = (slot: Slot) => JSON.stringify(slot)

/** Newer nodes have inputs that depend on a choice; their names begin with its own and a dot. */
const isGiven = (inputs: object, input: string) =>
  Object.hasOwn(inputs, input) || Object.keys(inputs).some((name) => name.startsWith(`${input}.`))

/** Some nodes hold the choices of their list themselves, one at each of their other inputs. */
const isOwnChoice = (inputs: Readonly<Record<string, unknown>>, input: string) =>
  Object.entries(inputs).some(([name, it]) => name !== input && it === inputs[input])

const sameNumber = (choices: ReadonlyMap<string, string>, value: unknown) =>
  typeof value === 'number' ? [...choices.values()].find((choice) => numberOf(choice) === value) : undefined

const SHOWN_CHOICES = 5

function lackOf(graph: WorkflowGraph, id: string, input: string, value: unknown, choices: readonly string[]): string {
  const has = choices.slice(0, SHOWN_CHOICES).map(shown).join(', ') || 'nothing'
  const more = choices.length > SHOWN_CHOICES ? ` and ${choices.length - SHOWN_CHOICES} more` : ''
  // What is no file came with a newer ComfyUI, or with a newer node pack.
  const isFile = /\.[a-z]\w*$/i.test(String(value))
  const mend = isFile ? 'put that file where the server looks for it' : 'update ComfyUI and its node packs'
  return `It has no "${shown(String(value))}" for ${shown(input)} of ${named(graph, id)}: ${mend}, or choose another in the workflow; it has ${has}${more}.`
}
