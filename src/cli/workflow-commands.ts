import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { SIZE_STEP } from '../core/generations/generation.js'
import { nodeClasses } from '../inference/comfyui/node-classes.js'
import { type BoundWorkflow, bindWorkflow } from '../inference/comfyui/workflow/bind-workflow.js'
import { readWorkflow } from '../inference/comfyui/workflow/read-workflow.js'
import { classesOf, fitted } from '../inference/comfyui/workflow/server-lacks.js'
import { workflowDocument } from '../inference/comfyui/workflow/workflow-definition.js'
import { named, type Slot, WorkflowProblem } from '../inference/comfyui/workflow/workflow-graph.js'
import { createServerHttp, parseServerUrl } from '../inference/server-http.js'
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
    .option(
      '--server <url>',
      'a ComfyUI server, such as http://127.0.0.1:8188, that is to draw with it: say what it lacks',
    )
    .action(async (file, { allowNode = [], server }) => {
      const bound = await readBound(file, allowNode)
      print(answerOf(bound, server === undefined ? undefined : await lacksOf(bound, server)))
    })
}

/** What a server lacks for the workflow, a sentence each. @throws OperatorError where it cannot be asked */
async function lacksOf(bound: BoundWorkflow, url: string): Promise<readonly string[]> {
  const http = createServerHttp(parseServerUrl(/^\w+\+/.test(url) ? url : `comfyui+${url}`))
  const workflow = workflowDocument(bound, bound.binding.scale ?? 1)
  const { signal } = new AbortController()
  try {
    // The look itself fails silently, because a worker looks again.
    const reply = await http.get('/object_info/PreviewImage', AbortSignal.timeout(ANSWER_MS))
    if (reply.status !== 200) throw new Error(`it answered ${reply.status}`)
    const fit = fitted(workflow, await nodeClasses(http).look(classesOf(workflow), signal, ANSWER_MS))
    if (!fit) throw new Error('it did not say in time which node classes it has')
    return fit.lacks
  } catch (error) {
    throw new OperatorError(`${http.name} can't be asked: ${(error as Error).message}. Check that ComfyUI runs there.`)
  } finally {
    await http.close()
  }
}

const ANSWER_MS = 10_000

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

/** @param lacks of a server; undefined where none was asked */
function answerOf(bound: BoundWorkflow, lacks?: readonly string[]): Answer {
  const { graph, binding, defaults, fixed, needs, notes, sizeMultiple } = bound
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
    section('Sizes', sizesOf(bound)),
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
    lacks && (lacks.length === 0 ? 'The server has all that it needs.' : section('What the server lacks', lacks)),
  ]
  const json = {
    bound: Object.fromEntries(
      PARAMETERS.map((name) => [name, binding[name].map(([node, input]) => ({ node, input }))]),
    ),
    output: { node: binding.output[0], output: binding.output[1] },
    ...{ scale: binding.scale ?? null, size_multiple: sizeMultiple, defaults, fixed, needs, notes, lacks },
  }
  return { json, text: parts.filter(Boolean).join('\n\n'), failed: (lacks?.length ?? 0) > 0 }
}

function sizesOf({ graph, binding: { scale, scaledWidth, scaledHeight }, sizeMultiple }: BoundWorkflow): string[] {
  const later = [...new Set([...scaledWidth, ...scaledHeight].map(([node]) => node))].map((id) => named(graph, id))
  return [
    ...(sizeMultiple > SIZE_STEP ? [`multiples of ${sizeMultiple} only`] : []),
    ...later.map((node) => `that of ${node} changes with the one that is asked for`),
    ...(scale === undefined ? ['the workflow does not say how large its image is: an import needs its "scale"'] : []),
    ...(scale === undefined || scale === 1 ? [] : [`the image is ${scale} times as wide and as high as asked for`]),
  ]
}

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
