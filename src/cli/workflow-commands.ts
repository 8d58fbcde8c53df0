import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { WorkflowReport } from '../core/operator/workflow-models.js'
import { nodeClasses } from '../inference/comfyui/node-classes.js'
import type { BoundWorkflow } from '../inference/comfyui/workflow/bind-workflow.js'
import { classesOf, fitted } from '../inference/comfyui/workflow/server-lacks.js'
import { workflowDocument } from '../inference/comfyui/workflow/workflow-definition.js'
import { createServerHttp, parseServerUrl } from '../inference/server-http.js'
import { boundWorkflow, defaultsOf, WORKFLOW_PARAMETERS, workflowReport } from '../process/workflow-report.js'
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

/** @throws OperatorError, invalid_request */
async function readBound(file: string, allowNodes: readonly string[]): Promise<BoundWorkflow> {
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${file} can't be read (${error.code}): give the path of a workflow.`)
  })
  return boundWorkflow(content, allowNodes)
}

/** @param lacks of a server; undefined where none was asked */
function answerOf(bound: BoundWorkflow, lacks?: readonly string[]): Answer {
  const { binding, fixed, needs, notes, sizeMultiple } = bound
  const { places, sections } = workflowReport(bound)
  const parts = [
    table(places.map(({ parameter, place }) => ({ parameter, 'is written at': place }))),
    ...sections.map(section),
    lacks &&
      (lacks.length === 0
        ? 'The server has all that it needs.'
        : section({ title: 'What the server lacks', lines: lacks })),
  ]
  const json = {
    bound: Object.fromEntries(
      WORKFLOW_PARAMETERS.map((name) => [name, binding[name].map(([node, input]) => ({ node, input }))]),
    ),
    output: { node: binding.output[0], output: binding.output[1] },
    ...{
      scale: binding.scale ?? null,
      size_multiple: sizeMultiple,
      defaults: defaultsOf(bound),
      fixed,
      needs,
      notes,
      lacks,
    },
  }
  return { json, text: parts.filter(Boolean).join('\n\n'), failed: (lacks?.length ?? 0) > 0 }
}

const section = ({ title, lines }: WorkflowReport['sections'][number]): string =>
  [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
