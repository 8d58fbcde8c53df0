import type { WorkflowGraph } from './workflow-graph.js'

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

/** The nodes with that title; "easel: " may stand before it, and upper case is the same. */
export function titled(graph: WorkflowGraph, role: Role): string[] {
  const titles: readonly string[] = ROLES[role]
  return Object.keys(graph).filter((id) => {
    const title = graph[id]?._meta?.title?.trim().toLowerCase() ?? ''
    return titles.includes(title.replace(/^easel:\s*/, ''))
  })
}
