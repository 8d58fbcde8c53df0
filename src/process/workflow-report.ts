/** How a workflow is read, for the command line and the console. */
import type { Range } from '../core/catalog/model-parameters.js'
import { AppError } from '../core/errors.js'
import { SIZE_STEP } from '../core/generations/generation.js'
import type { WorkflowReport } from '../core/operator/workflow-models.js'
import { type BoundWorkflow, bindWorkflow } from '../inference/comfyui/workflow/bind-workflow.js'
import { readWorkflow } from '../inference/comfyui/workflow/read-workflow.js'
import { named, type Slot, WorkflowProblem } from '../inference/comfyui/workflow/workflow-graph.js'
import { renamed, snakeCase } from '../lib/names.js'

/** @param source the text of a file @throws invalid_request with the sentence that says what to change in ComfyUI */
export function boundWorkflow(source: string, allowNodes: readonly string[]): BoundWorkflow {
  try {
    return bindWorkflow(readWorkflow(source), { allowNodes })
  } catch (error) {
    throw workflowProblem(error)
  }
}

/** What a workflow was refused with, as one of the service's own errors. */
export const workflowProblem = (error: unknown): unknown =>
  error instanceof WorkflowProblem ? new AppError('invalid_request', error.message) : error

/** What is written into a workflow, in the words of its binding. */
export const WORKFLOW_PARAMETERS = [
  ...(['prompt', 'negative', 'width', 'height', 'seed', 'steps', 'cfg', 'sampler', 'scheduler'] as const),
]

/** What requests get that leave a parameter out, by the API's names. */
export function defaultsOf({ defaults: { prompt: _, ...defaults } }: BoundWorkflow): Record<string, unknown> {
  return renamed(defaults, snakeCase)
}

export function workflowReport(bound: BoundWorkflow): WorkflowReport {
  const { graph, binding, fixed, needs, notes } = bound
  const placesOf = (slots: readonly Slot[]) => slots.map(([node, input]) => `${input} of ${named(graph, node)}`)
  const sections = [
    {
      title: 'Defaults',
      lines: Object.entries(defaultsOf(bound)).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
    },
    { title: 'Limits', lines: Object.entries(bound.limits).map(([name, it]) => spanOf(snakeCase(name), it)) },
    { title: 'Sizes', lines: sizesOf(bound) },
    { title: 'Without effect', lines: fixed.map(({ why }) => why) },
    { title: 'Node classes', lines: needs.classes.map(({ class: name }) => name) },
    { title: 'Files', lines: needs.files.map(({ file, node }) => `${file}, for ${named(graph, node)}`) },
    { title: 'Note', lines: notes },
  ]
  return {
    places: [
      ...WORKFLOW_PARAMETERS.map((name) => ({
        parameter: name,
        place: placesOf(binding[name]).join(', ') || 'nothing',
      })),
      { parameter: 'image', place: `what ${named(graph, binding.output[0])} makes` },
    ],
    sections: sections.filter(({ lines }) => lines.length > 0),
  }
}

const spanOf = (name: string, { min, max }: Range) => `${name}: from ${min} to ${max}, what its node takes`

function sizesOf({ graph, binding: { scale, scaledWidth, scaledHeight }, sizeMultiple }: BoundWorkflow): string[] {
  const later = [...new Set([...scaledWidth, ...scaledHeight].map(([node]) => node))].map((id) => named(graph, id))
  return [
    ...(sizeMultiple > SIZE_STEP ? [`multiples of ${sizeMultiple} only`] : []),
    ...later.map((node) => `that of ${node} changes with the one that is asked for`),
    ...(scale === undefined
      ? [
          'the workflow does not say how large its image is: an import needs the scale, its width divided by the one that is asked for',
        ]
      : []),
    ...(scale === undefined || scale === 1 ? [] : [`the image is ${scale} times as wide and as high as asked for`]),
  ]
}
