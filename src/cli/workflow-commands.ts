import { basename, join, parse } from 'node:path'
import type { Command } from 'commander'
import type { WorkflowReport } from '../core/operator/workflow-models.js'
import { operatorModelStore } from '../db/operator/catalog.js'
import { nodeClasses } from '../inference/comfyui/node-classes.js'
import type { BoundWorkflow } from '../inference/comfyui/workflow/bind-workflow.js'
import { serverLimits } from '../inference/comfyui/workflow/number-limits.js'
import { classesOf, fitted } from '../inference/comfyui/workflow/server-lacks.js'
import { workflowDocument } from '../inference/comfyui/workflow/workflow-definition.js'
import { createServerHttp, parseServerUrl } from '../inference/server-http.js'
import { refusalOf } from '../process/model-entry.js'
import { limitsWithinApi } from '../process/node-limits.js'
import { boundWorkflow, defaultsOf, WORKFLOW_PARAMETERS, workflowReport } from '../process/workflow-report.js'
import { type FindConfig, withOperator } from './connection.js'
import { readText } from './json-file.js'
import { OperatorError } from './operator-error.js'
import { type Answer, table } from './output.js'

/** @param find looks for a database, which a check can do without */
export function workflowCommands(program: Command, find: FindConfig, print: (answer: Answer) => void): void {
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
      const source = await readText(file, { what: 'a workflow', orPicture: true })
      const bound = boundWorkflow(source, allowNode)
      const { lacks, limits } = server === undefined ? {} : await askServer(bound, server)
      const entry = { ...entryOf(file, allowNode, await freeId(find)), ...(limits && { limits }) }
      const refused = await refusalOf(entry, source)
      print(answerOf(bound, { lacks, entry, refused, importFile: join(parse(file).dir, 'models.json') }))
    })
}

/** The built-in versions have IDs up to 99. */
const FIRST_ID = 101

/** For a new version: above those of the catalog, where there is one. */
async function freeId(find: FindConfig): Promise<number> {
  const used = async () => {
    const config = await find()
    return config ? withOperator(config, ({ db }) => operatorModelStore(db).list()) : []
  }
  const ids = (await used().catch(() => [])).map(({ id }) => id)
  return Math.max(FIRST_ID, ...ids.map((id) => id + 1))
}

/** As `easel models import` takes it from a file beside the workflow; names and price are the operator's to choose. */
const entryOf = (file: string, allowNodes: readonly string[], id: number) => ({
  ...{ id, name: 'v1', model_name: parse(file).name, base_model: 'Other', type: 'Workflow' },
  ...{ workflow_file: basename(file), credits_per_image: 1 },
  ...(allowNodes.length > 0 && { allow_nodes: allowNodes }),
})

/** What a server lacks for the workflow, a sentence each, and what its nodes take. @throws OperatorError where it cannot be asked */
async function askServer(bound: BoundWorkflow, url: string) {
  const http = createServerHttp(parseServerUrl(/^\w+\+/.test(url) ? url : `comfyui+${url}`))
  const workflow = workflowDocument(bound, bound.binding.scale ?? 1)
  const { signal } = new AbortController()
  try {
    // The look itself fails silently, because a worker looks again.
    const reply = await http.get('/object_info/PreviewImage', AbortSignal.timeout(ANSWER_MS))
    if (reply.status !== 200) throw new Error(`it answered ${reply.status}`)
    const fit = fitted(workflow, await nodeClasses(http).look(classesOf(workflow), signal, ANSWER_MS))
    if (!fit) throw new Error('it did not say in time which node classes it has')
    return { lacks: fit.lacks, limits: limitsWithinApi(serverLimits(fit.workflow)) }
  } catch (error) {
    throw new OperatorError(`${http.name} can't be asked: ${(error as Error).message}. Check that ComfyUI runs there.`)
  } finally {
    await http.close()
  }
}

const ANSWER_MS = 10_000

interface Checked {
  /** Of a server; undefined where none was asked. */
  readonly lacks: readonly string[] | undefined
  /** With which it can be imported. */
  readonly entry: object
  /** Why an import would refuse that entry as it is. */
  readonly refused: string | undefined
  /** Where to save the entry. */
  readonly importFile: string
}

function answerOf(bound: BoundWorkflow, { lacks, entry, refused, importFile }: Checked): Answer {
  const { binding, fixed, needs, notes, sizeMultiple } = bound
  const { places, sections } = workflowReport(bound)
  const parts = [
    table(places.map(({ parameter, place }) => ({ parameter, 'is written at': place }))),
    ...sections.map(section),
    lacks &&
      (lacks.length === 0
        ? 'The server has all that it needs.'
        : section({ title: 'What the server lacks', lines: lacks })),
    `To offer it, save this as ${importFile}, with an ID, names and a price of your own:`,
    JSON.stringify([entry], null, 2),
    refused && section({ title: 'An import refuses this entry as it is', lines: [refused] }),
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
      entry,
      refused: refused ?? null,
    },
  }
  const hint = `\n${refused ? 'Correct it, then' : 'Then'} run "easel models import ${importFile}".`
  const failed = (lacks?.length ?? 0) > 0 || refused !== undefined
  return { json, text: parts.filter(Boolean).join('\n\n'), hint, failed }
}

const section = ({ title, lines }: WorkflowReport['sections'][number]): string =>
  [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
