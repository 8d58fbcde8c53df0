/** Nodes that take parts of a text for orders, such as `<lora:name:1>` or a wildcard's `__file__`. */
import { CONDITIONING, carriesText } from './held-texts.js'
import { mayReadTags } from './node-lists.js'
import { nodeAt, type Slot, type WorkflowGraph, wiresOf } from './workflow-graph.js'

/** The nodes that may do so with a text of these inputs, at these nodes or on its way to an encoder. */
export function tagReaders(kept: WorkflowGraph, texts: readonly Slot[]): string[] {
  const users = new Map<string, string[]>()
  for (const id of Object.keys(kept))
    for (const [input, [from]] of wiresOf(kept, id)) {
      if (!carriesText(input) || CONDITIONING.test(input)) continue
      const those = users.get(from)
      if (those) those.push(id)
      else users.set(from, [id])
    }
  const found = new Set<string>()
  const open = texts.map(([id]) => id)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    open.push(...(users.get(next) ?? []))
  }
  return [...found].filter((id) => mayReadTags(nodeAt(kept, id)?.class_type ?? ''))
}
