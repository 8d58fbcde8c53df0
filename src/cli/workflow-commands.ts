import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { type BoundWorkflow, bindWorkflow } from '../inference/comfyui/workflow/bind-workflow.js'
import { readWorkflow } from '../inference/comfyui/workflow/read-workflow.js'
import { named, type Slot, WorkflowProblem } from '../inference/comfyui/workflow/workflow-graph.js'
import { OperatorError } from './operator-error.js'
import { type Answer, table } from './output.js'

export function workflowCommands(program: Command, print: (answer: Answer) => void): void {
  program
    .command('workflow')
    .description('ComfyUI workflows')
    .command('check')
    .description('read a workflow, and say where each parameter goes and what its server must have')
    .argument('<file>', 'a workflow that ComfyUI has saved with "Export (API)"')
    .option('--allow-node <class...>', 'node classes that may read files and addresses outside the models')
    .action(async (file, { allowNode = [] }) => print(answerOf(await readBound(file, allowNode))))
}

/** @throws OperatorError with the sentence that says what to change in ComfyUI */
async function readBound(file: string, allowNodes: readonly string[]): Promise<BoundWorkflow> {
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${file} can't be read (${error.code}): give the path of a workflow.`)
  })
  try {
    return bindWorkflow(readWorkflow(content), { allowNodes })
  } catch (error) {
    throw error instanceof WorkflowProblem ? new OperatorError(error.message) : error
  }
}

const PARAMETERS = ['prompt', 'negative', 'width', 'height', 'seed', 'steps', 'cfg', 'sampler', 'scheduler'] as const

function answerOf({ graph, binding, defaults, fixed, needs, notes }: BoundWorkflow): Answer {
  const placesOf = (slots: readonly Slot[]) => slots.map(([node, input]) => `${input} of ${named(graph, node)}`)
  const parts = [
    table([
      ...PARAMETERS.map((name) => ({
        parameter: name,
        'is written at': placesOf(binding[name]).join(', ') || 'nothing',
      })),
      { parameter: 'image', 'is written at': `what ${named(graph, binding.output[0])} makes` },
    ]),
    section(
      'Defaults',
      Object.entries(defaults).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
    ),
    section(
      'Without effect',
      fixed.map(({ why }) => why),
    ),
    section(
      'Node classes',
      needs.classes.map(({ class: name }) => name),
    ),
    section(
      'Files',
      needs.files.map(({ file, node }) => `${file}, for ${named(graph, node)}`),
    ),
    section('Note', notes),
  ]
  const json = {
    bound: Object.fromEntries(
      PARAMETERS.map((name) => [name, binding[name].map(([node, input]) => ({ node, input }))]),
    ),
    output: { node: binding.output[0], output: binding.output[1] },
    ...{ scale: binding.scale ?? null, defaults, fixed, needs, notes },
  }
  return { json, text: parts.filter(Boolean).join('\n\n') }
}

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
