import type { GraphImage } from './graph.js'
import type { ServerEvent } from './server-events.js'

/** Decoding and saving the pictures come after the last step. */
const SAMPLING_SHARE = 0.95

/** Turns the steps of all samplers into one fraction; feed it the events, it reports each change. */
export function createProgress(
  images: readonly GraphImage[],
  report: (fraction: number) => void,
): (event: ServerEvent) => void {
  const sampled = new Map(images.map(({ samplerNode }) => [samplerNode, 0]))

  const note = (node: unknown, value: unknown, max: unknown) => {
    if (typeof node !== 'string' || typeof value !== 'number' || typeof max !== 'number') return
    const before = sampled.get(node)
    const fraction = max > 0 ? Math.min(1, value / max) : 0
    if (before === undefined || fraction <= before) return
    sampled.set(node, fraction)
    const done = [...sampled.values()].reduce((sum, each) => sum + each, 0)
    report((SAMPLING_SHARE * done) / images.length)
  }

  return ({ type, data }) => {
    if (type === 'progress') note(data.node, data.value, data.max)
    else if (type === 'progress_state')
      for (const [node, state] of nodeStates(data.nodes)) note(node, state.value, state.max)
    else if (type === 'execution_cached' && Array.isArray(data.nodes)) for (const node of data.nodes) note(node, 1, 1)
  }
}

function nodeStates(nodes: unknown): [node: string, state: { value?: unknown; max?: unknown }][] {
  if (typeof nodes !== 'object' || nodes === null) return []
  return Object.entries(nodes).filter(([, state]) => typeof state === 'object' && state !== null)
}
