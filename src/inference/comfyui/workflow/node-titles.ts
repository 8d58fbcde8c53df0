import { named, type WorkflowGraph, WorkflowProblem } from './workflow-graph.js'

/** The titles by which a person settles what a node is for. ComfyUI translates its own titles, so none of them counts. */
const ROLES = {
  prompt: ['prompt', 'positive'],
  negative: ['negative'],
  size: ['size'],
  width: ['width'],
  height: ['height'],
  seed: ['seed'],
  steps: ['steps'],
  cfg: ['cfg'],
  sampler: ['sampler'],
  output: ['output'],
  image: ['image'],
  mask: ['mask'],
} as const

export type Role = keyof typeof ROLES

// Each may cost a walk over the whole graph.
const MAX_TITLED = 50

/** The nodes with that title; "easel: " may stand before it, and upper case is the same. @throws WorkflowProblem for too many */
export function titled(graph: WorkflowGraph, role: Role): string[] {
  const titles: readonly string[] = ROLES[role]
  const found = Object.keys(graph).filter((id) => {
    const title = graph[id]?._meta?.title?.trim().toLowerCase() ?? ''
    return titles.includes(title.replace(/^easel:\s*/, ''))
  })
  if (found.length > MAX_TITLED)
    throw new WorkflowProblem(
      `${found.length} nodes have the title "${role}", and at most ${MAX_TITLED} may: leave it to the one that is meant, and export the workflow again.`,
    )
  return found
}

/** For a title that the wires contradict: `taker` gets that from elsewhere. */
export const contradicted = (graph: WorkflowGraph, id: string, role: Role, taker: string): string =>
  `${named(graph, id)} has the title "${role}", but ${named(graph, taker)} does not get its ${role} from there: the wires decide, and the title has no effect.`

const SETTLED: readonly Role[] = ['prompt', 'negative', 'size', 'width', 'height', 'seed', 'steps', 'cfg', 'sampler']

/** For the titles on nodes that the image does not need; a side that a switch turns off may have the same ones. */
export const idleTitles = (graph: WorkflowGraph, kept: WorkflowGraph): string[] =>
  SETTLED.filter((role) => titled(kept, role).length === 0).flatMap((role) =>
    titled(graph, role)
      .filter((id) => !Object.hasOwn(kept, id))
      .map((id) => `${named(graph, id)} has the title "${role}", but no part in the image: the title has no effect.`),
  )
