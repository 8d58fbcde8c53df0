import { FILE, nestedFiles } from './nested-files.js'
import { onlyDraws } from './node-lists.js'
import { titled } from './node-titles.js'
import { isPlaceholder, numberAt } from './node-values.js'
import {
  inputOf,
  named,
  namedAll,
  nodeAt,
  type Slot,
  shown,
  titleOf,
  type WorkflowGraph,
  WorkflowProblem,
  wireOf,
  wiresOf,
} from './workflow-graph.js'

/** What a server must have: `title` and `node` are of the first node that needs it. */
export interface Needs {
  readonly classes: { readonly class: string; readonly node: string; readonly title: string }[]
  readonly files: {
    readonly class: string
    readonly node: string
    readonly title: string
    readonly input: string
    readonly file: string
  }[]
}

export function needsOf(kept: WorkflowGraph): Needs {
  const classes = new Map<string, Needs['classes'][number]>()
  const files: Needs['files'] = []
  for (const [node, { class_type, inputs }] of Object.entries(kept)) {
    const title = titleOf(kept, node)
    if (!classes.has(class_type)) classes.set(class_type, { class: class_type, node, title })
    for (const [input, value] of Object.entries(inputs))
      for (const file of filesIn(value)) files.push({ class: class_type, node, title, input, file })
  }
  return { classes: [...classes.values()], files }
}

const filesIn = (value: unknown): string[] =>
  typeof value === 'string' && FILE.test(value) ? [value] : nestedFiles(value).map(({ file }) => file)

/** Each wire ends at a node of the file. @throws WorkflowProblem */
export function checkWiring(graph: WorkflowGraph, kept: WorkflowGraph): void {
  for (const id of Object.keys(kept)) {
    checkWires(kept, id)
    // The node behind a lost wire may be one that nothing else needs.
    checkLostWires(graph, id)
  }
}

/** What no graph may have, whatever is bound in it. @throws WorkflowProblem */
export function checkKept(kept: WorkflowGraph, allowNodes: ReadonlySet<string>): void {
  for (const id of Object.keys(kept)) {
    if (!allowNodes.has(nodeAt(kept, id)?.class_type ?? '')) {
      checkImages(kept, id)
      checkReach(kept, id)
    }
    checkFrames(kept, id)
  }
  checkCycles(kept)
}

/** A muted node is not exported, but the wire to it is. */
export function checkWires(kept: WorkflowGraph, id: string): void {
  const missing = wiresOf(kept, id).find(([, [node]]) => !nodeAt(kept, node))
  if (missing)
    throw new WorkflowProblem(
      `${named(kept, id)} gets its ${shown(missing[0])} from node ${shown(missing[1][0])}, which is not in the file: unmute that node in ComfyUI, or connect another, and export the workflow again.`,
    )
}

const WIRED =
  /^(model|clip|vae|samples|latent_image|conditioning|positive|negative|pixels|images?|mask|guider|sigmas|noise|sampler)$/

/** What was a wire before somebody edited the file: a node's id without its output, or with an output that is no number. */
function checkLostWires(graph: WorkflowGraph, id: string): void {
  const isId = (value: unknown) =>
    (typeof value === 'string' || typeof value === 'number') && nodeAt(graph, String(value)) !== undefined
  const lost = Object.entries(nodeAt(graph, id)?.inputs ?? {}).find(
    ([input, value]) => WIRED.test(input) && !wireOf(value) && isId(Array.isArray(value) ? value[0] : value),
  )
  if (lost)
    throw new WorkflowProblem(
      `${named(graph, id)} has ${shown(JSON.stringify(lost[1]))} at ${lost[0]}, where a wire must be: connect it in ComfyUI and export the workflow again.`,
    )
}

const REACHING_INPUT = /^(.*_)?(url|urls|path|paths|directory|dir|folder|folder_path|python_code|code)$/i
/** Addresses, paths that begin at a root, a drive, a share, a home or a variable, and paths that leave their folder. */
const REACHING_VALUE =
  /^[a-z][a-z0-9+.-]*:\/\/\S+$|^(file|data|javascript):\S|^(\/[^\s/]+\/|~[\\/]|[a-z]:[\\/]|[\\/]{2}[^\s\\/]|\$\{?\w+\}?[\\/]|%\w+%[\\/])|(^|[\\/])\.\.([\\/]|$)/i

/** Nothing, or the name of a file that is chosen from a folder of models. */
const isHarmless = (input: string, value: unknown): boolean =>
  value === '' || (/path$/i.test(input) && typeof value === 'string' && FILE.test(value) && !/[\\/]/.test(value))

const isReaching = (input: string, value: unknown): boolean =>
  typeof value === 'string' &&
  ((REACHING_INPUT.test(input) && !isHarmless(input, value)) || REACHING_VALUE.test(value.trim()))

/** Also within lists and objects; reading the file has bounded how deep those are. */
const reaches = (input: string, value: unknown): boolean =>
  isReaching(input, value) ||
  (wireOf(value) === undefined &&
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).some(([key, inner]) => reaches(Array.isArray(value) ? input : key, inner)))

/** A workflow must not make the server fetch a URL, read a file by its path, run code, or write files of its own. */
function checkReach(kept: WorkflowGraph, id: string): void {
  const reaching = Object.entries(nodeAt(kept, id)?.inputs ?? {}).find(
    ([input, value]) => reaches(input, value) || (REACHING_INPUT.test(input) && wireOf(value)),
  )
  if (reaching)
    throw new WorkflowProblem(
      `${named(kept, id)} can reach files or addresses outside the server's models at ${shown(reaching[0])}: remove it, or allow it with --allow-node '${shown(nodeAt(kept, id)?.class_type ?? '')}' if you trust it.`,
    )
}

const MAX_NAMED = 20

/**
 * What is on no list may do anything, whatever it is called. All at once, or each would need an import of its own.
 * @throws WorkflowProblem
 */
export function checkKnown(kept: WorkflowGraph, allowNodes: ReadonlySet<string>): void {
  const classOf = (id: string) => nodeAt(kept, id)?.class_type ?? ''
  const unknown = new Map(Object.keys(kept).map((id) => [classOf(id), id] as const))
  for (const name of unknown.keys()) if (onlyDraws(name) || allowNodes.has(name)) unknown.delete(name)
  if (unknown.size === 0) return
  const [they, them, draw] = unknown.size === 1 ? ['it', 'it', 'draws'] : ['they', 'them', 'draw']
  const names = [...unknown.keys()].slice(0, MAX_NAMED).map((name) => `'${shown(name)}'`)
  throw new WorkflowProblem(
    `Easel does not know that ${namedAll(kept, [...unknown.values()])} only ${draw}: ${they} can reach files or addresses outside the server's models, or run code, so remove ${them}, or allow ${them} with --allow-node ${names.join(' ')} if you trust ${them}.`,
  )
}

/** @throws WorkflowProblem */
function checkImages(kept: WorkflowGraph, id: string): void {
  const name = nodeAt(kept, id)?.class_type ?? ''
  const isLoader = /load.*(image|mask|video|audio)/i.test(name) || /^(image|mask)$/.test(name)
  // One that loads from elsewhere needs to be allowed, whatever it loads.
  if (!isLoader || /url|http|path|folder|dir/i.test(name)) return
  throw new WorkflowProblem(
    `${named(kept, id)} loads an image or another file as input, which is not supported yet: remove it and what needs it, and export the workflow again.`,
  )
}

/** The titles of images as input are kept for them. @throws WorkflowProblem */
export function checkImageTitles(kept: WorkflowGraph): void {
  for (const role of ['image', 'mask'] as const) {
    const [id] = titled(kept, role)
    if (id !== undefined)
      throw new WorkflowProblem(
        `${named(kept, id)} has the title "${role}", which is kept for images as input, and those are not supported yet: remove the node, or change its title, and export the workflow again.`,
      )
  }
}

const FRAMES = ['length', 'frames', 'num_frames', 'frame_count', 'video_frames', 'amount']

/** Several frames are a film, and several latents would be several images of one seed. */
function checkFrames(kept: WorkflowGraph, id: string): void {
  const name = nodeAt(kept, id)?.class_type ?? ''
  // It makes a film of what looks like a batch.
  if (/animate_?diff|^ADE_|motion/i.test(name))
    throw new WorkflowProblem(
      `${named(kept, id)} makes several frames, and only one still image can be drawn: remove it and export the workflow again.`,
    )
  const isLatent = inputOf(kept, id, 'width') !== undefined || /latent|video|batch/i.test(name)
  const input = isLatent ? FRAMES.find((it) => (numberAt(kept, id, it) ?? 1) > 1) : undefined
  if (input !== undefined)
    throw new WorkflowProblem(
      `${named(kept, id)} makes several frames, and only one still image can be drawn: set its ${input} to 1 and export the workflow again.`,
    )
}

/** Takes away all nodes that wait for none that is left; what stays waits in a circle. */
function checkCycles(kept: WorkflowGraph): void {
  const waitsFor = new Map(Object.keys(kept).map((id) => [id, new Set(wiresOf(kept, id).map(([, [node]]) => node))]))
  const users = new Map<string, string[]>()
  for (const [id, nodes] of waitsFor)
    for (const node of nodes) {
      const those = users.get(node)
      if (those) those.push(id)
      else users.set(node, [id])
    }
  const ready = [...waitsFor].filter(([, nodes]) => nodes.size === 0).map(([id]) => id)
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    waitsFor.delete(id)
    for (const user of users.get(id) ?? []) {
      const nodes = waitsFor.get(user)
      nodes?.delete(id)
      if (nodes?.size === 0) ready.push(user)
    }
  }
  // Whoever waits for one of these is one of them: going on from one to the next ends in the circle.
  let [inCircle] = waitsFor.keys()
  for (const passed = new Set<string>(); inCircle !== undefined && !passed.has(inCircle); ) {
    passed.add(inCircle)
    ;[inCircle] = waitsFor.get(inCircle) ?? []
  }
  if (inCircle !== undefined)
    throw new WorkflowProblem(
      `${named(kept, inCircle)} needs its own result, through a circle of wires: disconnect one of them in ComfyUI and export the workflow again.`,
    )
}

/** What nodes that replace text look for is often written like the placeholders of other programs. */
const LOOKED_FOR = /^(find|old|search|pattern|regex(_pattern)?)$/

/** What stays as it is in the file must arrive as it is there. @throws WorkflowProblem */
export function checkUnbound(kept: WorkflowGraph, bound: readonly Slot[]): void {
  const keys = new Set(bound.map((slot) => JSON.stringify(slot)))
  for (const [id, { inputs }] of Object.entries(kept))
    for (const [input, value] of Object.entries(inputs)) {
      if (keys.has(JSON.stringify([id, input]))) continue
      if (isPlaceholder(value) && !LOOKED_FOR.test(input))
        throw new WorkflowProblem(
          `${named(kept, id)} has ${shown(String(value))} at ${shown(input)}, which another program would replace: choose a value in ComfyUI and export the workflow again.`,
        )
      if (typeof value === 'string' && value.includes('\ufffd'))
        throw new WorkflowProblem(
          `${named(kept, id)} has lost characters at ${shown(input)}, because the file is not in UTF-8: save it in that encoding.`,
        )
      if (hasHugeNumber(value))
        throw new WorkflowProblem(
          `${named(kept, id)} has a number at ${shown(input)} that is too large to be sent unchanged: set one below 9007199254740992 in ComfyUI and export the workflow again.`,
        )
    }
}

/** JSON.parse rounds whole numbers beyond 2^53. */
function hasHugeNumber(value: unknown): boolean {
  const open = [value]
  while (open.length > 0) {
    const it = open.pop()
    if (typeof it === 'number' && !Number.isSafeInteger(it) && !(Math.abs(it) < 2 ** 53)) return true
    if (typeof it === 'object' && it !== null) for (const inner of Object.values(it)) open.push(inner)
  }
  return false
}
