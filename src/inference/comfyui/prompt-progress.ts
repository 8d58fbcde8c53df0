import { z } from 'zod'
import type { Graph } from './graph.js'
import type { ServerEvent } from './server-events.js'

/** Decoding and saving the images come after the last step. */
const SAMPLING_SHARE = 0.95

const nodeSteps = z.object({ value: z.number(), max: z.number().positive() })

/** Takes events, and reports each change of the steps of all samplers as one fraction. */
export function createProgress(images: Graph['images'], report: (fraction: number) => void) {
  const sampled = new Map<unknown, number>(images.map(({ samplerNode }) => [samplerNode, 0]))
  const note = (node: unknown, state: unknown) => {
    const before = sampled.get(node)
    const { data: steps } = nodeSteps.safeParse(state)
    const fraction = steps ? Math.min(1, steps.value / steps.max) : 0
    if (before === undefined || fraction <= before) return
    sampled.set(node, fraction)
    const done = [...sampled.values()].reduce((sum, each) => sum + each, 0)
    report((SAMPLING_SHARE * done) / images.length)
  }
  return ({ type, data }: ServerEvent): void => {
    const { nodes } = data
    if (type === 'progress') note(data.node, data)
    else if (type === 'progress_state') for (const [node, state] of Object.entries(nodes ?? {})) note(node, state)
    else if (type === 'execution_cached' && Array.isArray(nodes))
      for (const node of nodes) note(node, { value: 1, max: 1 })
  }
}
