/** What the nodes of a workflow take of the numbers that are written into them. */
import type { InferenceRequest } from '../../../core/generations/run/backend.js'
import { snakeCase } from '../../../lib/names.js'
import { unsupported } from '../../backend-failure.js'
import type { Range } from '../node-classes.js'
import { keyOf, nodeAt, type Slot, type WorkflowGraph } from './workflow-graph.js'

/** The API's parameters, each with its name in a binding. */
const BOUND = { steps: 'steps', cfgScale: 'cfg', width: 'width', height: 'height' } as const

/** Where those are written. */
type Slots = Readonly<Record<(typeof BOUND)[keyof typeof BOUND], readonly Slot[]>>

export type NumberLimits = Partial<Record<keyof typeof BOUND, Range>>

/** By the parameter, what all nodes take into which it is written; only for those of which that is known. */
function limitsOf(binding: Slots, rangeAt: (slot: Slot) => Range | undefined): NumberLimits {
  const found = Object.entries(BOUND).flatMap(([parameter, name]) => {
    const ranges = binding[name].map(rangeAt).filter((it) => it !== undefined)
    const limits = { min: Math.max(...ranges.map(({ min }) => min)), max: Math.min(...ranges.map(({ max }) => max)) }
    return ranges.length > 0 ? [[parameter, limits] as const] : []
  })
  return Object.fromEntries(found)
}

/** Inputs of ComfyUI's own nodes that take less than the API does. */
const OWN: Readonly<Record<string, Range>> = {
  'SDTurboScheduler steps': { min: 1, max: 10 },
  'OptimalStepsScheduler steps': { min: 3, max: 1000 },
  'GITSScheduler steps': { min: 2, max: 1000 },
}

/** The limits that are known without a server. */
export const ownLimits = (graph: WorkflowGraph, binding: Slots): NumberLimits =>
  limitsOf(binding, ([id, input]) => OWN[`${nodeAt(graph, id)?.class_type} ${input}`])

/** A workflow as a server takes it. */
interface Fitted {
  readonly binding: Slots
  readonly ranges?: ReadonlyMap<string, Range>
}

/** The limits that a server has told. */
export const serverLimits = ({ binding, ranges }: Fitted): NumberLimits =>
  limitsOf(binding, (slot) => ranges?.get(keyOf(slot)))

/** @throws BackendError `unsupported` for a number that a node would be refused with */
export function requireTaken(server: string, workflow: Fitted, request: InferenceRequest): void {
  for (const [parameter, { min, max }] of Object.entries(serverLimits(workflow))) {
    const value = request[parameter as keyof NumberLimits]
    if (value >= min && value <= max) continue
    const name = snakeCase(parameter)
    throw unsupported(
      server,
      `takes ${name} from ${min} to ${max} in the workflow: add such limits to the model version, and no request can ask for others`,
      value < min
        ? `${name} must be at least ${min} for this model.`
        : `${name} must be at most ${max} for this model.`,
    )
  }
}
