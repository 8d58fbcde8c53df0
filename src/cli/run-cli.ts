import { Command, CommanderError } from 'commander'
import { version } from '../core/release.js'
import { printable } from '../lib/text.js'
import { withCommand } from '../process/command-name.js'
import { useProxy } from '../process/proxy.js'
import { archiveCommands } from './archive-commands.js'
import type { Confirm } from './arguments.js'
import { backendCommands } from './backend-commands.js'
import { findConfig, type Runner, withOperator } from './connection.js'
import { creditCommands } from './credit-commands.js'
import { imageCommands, storageCommands } from './image-commands.js'
import { jobCommands } from './job-commands.js'
import { keyCommands, usageCommand } from './key-commands.js'
import { auditCommand, maintenanceCommand, migrateCommand } from './maintenance-commands.js'
import { modelCommands } from './model-commands.js'
import { moderationCommands } from './moderation-commands.js'
import { OperatorError, sentenceOf } from './operator-error.js'
import type { Answer } from './output.js'
import { packCommands } from './pack-commands.js'
import { paymentCommands } from './payment-commands.js'
import { planCommands } from './plan-commands.js'
import { queueCommands } from './queue-commands.js'
import { reportCommands } from './report-commands.js'
import type { ReadPassword } from './sign-in-commands.js'
import { subscriptionCommands, userCommands } from './user-commands.js'
import { workflowCommands } from './workflow-commands.js'

type Output = { write(text: string): unknown }

interface CliSurroundings {
  readonly stdout: Output
  readonly stderr: Output
  readonly readPassword?: ReadPassword
  readonly confirm?: Confirm
  /** Where `npm start` keeps the one-machine stack. */
  readonly localDirectory?: string
  /** How a person calls it. */
  readonly command?: string
  /** ms: how long "migrate" waits for a Postgres that is still starting. */
  readonly patienceMs?: number
}

const PATIENCE_MS = 30_000

/** Runs one command line, without the program's name, and resolves to the exit code. */
export async function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { stdout, stderr, ...surroundings }: CliSurroundings,
): Promise<number> {
  const { readPassword = async () => '', confirm = async () => false } = surroundings
  const { localDirectory = '.easel', command = 'easel', patienceMs = PATIENCE_MS } = surroundings
  let exitCode = 0
  const complain = (line: string) => stderr.write(`${printable(withCommand(line, command))}\n`)
  const program = new Command(command)
    .description("Easel's operator command line")
    .version(version(), '--version', 'print the version')
    .option('--json', 'print one JSON value')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => undefined,
    })
  const isJson = () => program.opts().json === true
  // Subscribers and GPU servers have written some of it.
  const write = (text: string) => stdout.write(`${printable(text)}\n`)
  const say = (text: string) => void (isJson() || write(text))
  const print = ({ json, text, hint, failed = false, remark }: Answer) => {
    if (isJson()) write(JSON.stringify(json, null, 2))
    else if (text !== undefined) write(text)
    if (hint !== undefined) say(withCommand(hint, command))
    if (remark !== undefined) complain(remark)
    exitCode = failed ? 1 : 0
  }
  const find = () => findConfig(env, localDirectory)
  const run: Runner =
    (work) =>
    async (...args) => {
      const config = await find()
      if (!config)
        throw new OperatorError(
          `No database found: set DATABASE_URL, or run "npm start", whose stack does not run in ${localDirectory} now.`,
        )
      print(await withOperator(config, (operator) => work(operator, ...args)))
    }
  migrateCommand(program, run, complain, patienceMs)
  userCommands(program, run, { readPassword, confirm })
  subscriptionCommands(program, run)
  creditCommands(program, run, confirm)
  planCommands(program, run)
  packCommands(program, run)
  paymentCommands(program, run)
  keyCommands(program, run)
  modelCommands(program, run, confirm)
  jobCommands(program, run)
  queueCommands(program, run)
  usageCommand(program, run)
  imageCommands(program, run)
  storageCommands(program, run, complain)
  moderationCommands(program, run)
  reportCommands(program, run)
  auditCommand(program, run)
  maintenanceCommand(program, run, complain)
  archiveCommands(program, run)
  backendCommands(program, find, say, print)
  workflowCommands(program, find, print)
  explainMistakes(program, command)
  try {
    await useProxy(env)
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help, --version
    complain(`error: ${sentenceOf(error)}`)
    return 1
  }
}

/** Every command's own mistakes in our form, with the way to its help. */
function explainMistakes(command: Command, path: string): void {
  command.exitOverride((error) => {
    throw error.exitCode === 0 ? error : new OperatorError(`${mistakeOf(error)} "${path} --help" shows how.`)
  })
  for (const child of command.commands) explainMistakes(child, `${path} ${child.name()}`)
}

function mistakeOf({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'Name a command.'
  const text = message.replace(/^error: /, '').replaceAll('\n', ' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?)]$/.test(text) ? '' : '.'}`
}
