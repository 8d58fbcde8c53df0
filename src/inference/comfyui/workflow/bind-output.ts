import { titled } from './node-titles.js'
import { checkWires } from './requirements.js'
import { isSampler } from './sampler-nodes.js'
import {
  ancestorsOf,
  named,
  namedAll,
  nodeAt,
  type Wire,
  type WorkflowGraph,
  WorkflowProblem,
  wireAt,
  wiresOf,
} from './workflow-graph.js'

const SAVES = /save|output|send|export/i
const SHOWS = /preview|compare|show|display|view/i
/** They write films of what may be one image: the image is not in their files. */
const FILMS = /video|webm|gif|mp4|audio|glb|3d/i

interface Candidate {
  readonly id: string
  readonly wire: Wire
  readonly ancestors: ReadonlySet<string>
  readonly samplers: readonly string[]
}

// Each costs a walk over the whole graph.
const MAX_CANDIDATES = 50

/**
 * The wire of the image that is saved: the node titled "output"; else the only one; else the last pass, which needs what
 * all the others show. `outputClasses`: what the server calls an output node; without it the names of classes tell.
 * @throws WorkflowProblem
 */
export function bindOutput(graph: WorkflowGraph, outputClasses?: ReadonlySet<string>) {
  const [asked, another] = titled(graph, 'output')
  if (asked !== undefined && another !== undefined)
    throw new WorkflowProblem(
      `Both ${named(graph, asked)} and ${named(graph, another)} have the title "output": leave it to the one whose image is wanted.`,
    )
  if (asked !== undefined) return { output: titledWire(graph, asked, outputClasses), leftOut: [] }
  const found = Object.keys(graph).filter((id) => isOutput(graph, id, outputClasses))
  if (found.length === 0) throw noOutput(graph)
  if (found.length > MAX_CANDIDATES) throw ambiguous(graph, found)
  const last = lastOf(
    graph,
    preferred(
      graph,
      found.map((id) => candidate(graph, id)),
    ),
  )
  checkFilms(graph, last)
  // A muted node before the saving one.
  checkWires(graph, last.id)
  const leftOut = found.filter((id) => String(imageWire(graph, id)) !== String(last.wire))
  return { output: last.wire, leftOut }
}

const imageWire = (graph: WorkflowGraph, id: string) => wireAt(graph, id, 'images') ?? wireAt(graph, id, 'image')

function isOutput(graph: WorkflowGraph, id: string, outputClasses: ReadonlySet<string> | undefined): boolean {
  const name = nodeAt(graph, id)?.class_type ?? ''
  if (!imageWire(graph, id) || FILMS.test(name)) return false
  // A class that the server lacks is in no list of its output nodes.
  return outputClasses?.has(name) || SAVES.test(name) || SHOWS.test(name)
}

/** A node that saves or shows has its image as an input; any other makes it. */
function titledWire(graph: WorkflowGraph, id: string, outputClasses: ReadonlySet<string> | undefined): Wire {
  if (!isOutput(graph, id, outputClasses)) return [id, 0]
  return imageWire(graph, id) as Wire
}

function candidate(graph: WorkflowGraph, id: string): Candidate {
  const wire = imageWire(graph, id) as Wire
  const ancestors = ancestorsOf(graph, wire[0])
  return { id, wire, ancestors, samplers: [...ancestors].filter((it) => isSampler(graph, it)) }
}

/** Those that are drawn, if some are; of these, the saved ones, if some are; one for each wire. */
function preferred(graph: WorkflowGraph, candidates: readonly Candidate[]): readonly Candidate[] {
  const some = (those: readonly Candidate[], are: (it: Candidate) => boolean): readonly Candidate[] => {
    const chosen = those.filter(are)
    return chosen.length > 0 ? chosen : those
  }
  const isSaved = ({ id }: Candidate) => !SHOWS.test(nodeAt(graph, id)?.class_type ?? '')
  return some(
    some(candidates, ({ samplers }) => samplers.length > 0),
    isSaved,
  )
}

function lastOf(graph: WorkflowGraph, candidates: readonly Candidate[]): Candidate {
  const byWire = [...new Map(candidates.map((it) => [String(it.wire), it])).values()]
  // The last pass needs the samplers of all the others; of several such, the one that needs the others' images.
  const afterAll = byWire.filter((it) => byWire.every((other) => other.samplers.every((id) => it.ancestors.has(id))))
  const last = afterAll.filter((it) => afterAll.every((other) => other === it || it.ancestors.has(other.wire[0])))
  if (last.length !== 1)
    throw ambiguous(
      graph,
      candidates.map(({ id }) => id),
    )
  return last[0] as Candidate
}

/** A film, a sound or a model in 3D that is made beside the image may be what the workflow is for. */
function checkFilms(graph: WorkflowGraph, { id, samplers }: Candidate): void {
  const film = filmsIn(graph).find((it) => {
    const ancestors = ancestorsOf(graph, it)
    return samplers.some((sampler) => ancestors.has(sampler))
  })
  if (film !== undefined)
    throw new WorkflowProblem(
      `The workflow makes more than an image, at ${named(graph, film)}, and only still images can be drawn: if the image is wanted, give ${named(graph, id)} the title "output" in ComfyUI and export it again.`,
    )
}

/** The nodes that end in something else than a still image. */
function filmsIn(graph: WorkflowGraph): string[] {
  const used = new Set(Object.keys(graph).flatMap((id) => wiresOf(graph, id).map(([, [node]]) => node)))
  return Object.keys(graph).filter((id) => !used.has(id) && FILMS.test(nodeAt(graph, id)?.class_type ?? ''))
}

const ambiguous = (graph: WorkflowGraph, ids: readonly string[]) =>
  new WorkflowProblem(
    `The workflow saves several images: give one of ${namedAll(graph, ids)} the title "output" in ComfyUI and export it again.`,
  )

function noOutput(graph: WorkflowGraph): WorkflowProblem {
  const [film] = filmsIn(graph)
  return new WorkflowProblem(
    film === undefined
      ? 'The workflow saves no image: connect a Save Image node to the image that is wanted, or give the node that makes it the title "output", and export it again.'
      : `The workflow saves no still image, and ${named(graph, film)} makes something else: only still images can be drawn, so connect a Save Image node to one.`,
  )
}
