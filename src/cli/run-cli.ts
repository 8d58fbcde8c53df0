import { Command, CommanderError } from 'commander'
import { withCommand } from '../command-name.js'
import { backendCommands } from './backend-commands.js'
import { type Action, configFor, type Environment, findConfig, type Runner, withOperator } from './connection.js'
import { creditCommands } from './credit-commands.js'
import { imageCommands, jobCommands } from './job-commands.js'
import { keyCommands, usageCommand } from './key-commands.js'
import { auditCommand, migrateCommand } from './maintenance-commands.js'
import { modelCommands } from './model-commands.js'
import { OperatorError, sentenceOf } from './operator-error.js'
import type { Answer } from './output.js'
import { subscriptionCommands, userCommands } from './user-commands.js'

interface Output {
  write(text: string): unknown
}

interface CliSurroundings {
  readonly stdout: Output
  readonly stderr: Output
  /** Where the one-machine stack lies; `.easel` unless given. */
  readonly localDirectory?: string
  /** How a person calls it; `easel` unless given. */
  readonly command?: string
}

/**
 * Runs one command line, without the program's name. Answers go to stdout, failures to stderr as `error: <sentence>`.
 * @returns the exit code
 */
export async function runCli(
  args: readonly string[],
  env: Environment,
  { stdout, stderr, localDirectory, command = 'easel' }: CliSurroundings,
): Promise<number> {
  let exitCode = 0
  const program = new Command(command)
  const say = (kind: 'error' | 'warning', sentence: string) =>
    stderr.write(`${kind}: ${withCommand(sentence, command)}\n`)
  const print = ({ json, text, complaint, warning, exitCode: code = complaint === undefined ? 0 : 1 }: Answer) => {
    stdout.write(`${program.opts().json ? JSON.stringify(json) : text}\n`)
    if (complaint !== undefined) say('error', complaint)
    if (warning !== undefined) say('warning', warning)
    exitCode = code
  }
  const action =
    <Given>(execute: (work: (given: Given) => Promise<Answer>) => Promise<Answer>): Action<Given> =>
    (work) =>
    async (...args) =>
      print(await execute((given) => work(given, ...args)))
  const run: Runner = {
    connected: action(async (work) => withOperator(await configFor(env, localDirectory), work)),
    configured: action(async (work) => work(await configFor(env, localDirectory))),
    unconnected: action((work) => work(() => findConfig(env, localDirectory))),
  }
  describe(program, run)
  program.configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
  settle(program, command)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help
    say('error', sentenceOf(error))
    return 1
  }
}

function describe(program: Command, run: Runner): void {
  program.description("Easel's operator command line").option('--json', 'print one JSON value')
  migrateCommand(program, run)
  userCommands(program, run)
  subscriptionCommands(program, run)
  creditCommands(program, run)
  keyCommands(program, run)
  modelCommands(program, run)
  jobCommands(program, run)
  usageCommand(program, run)
  imageCommands(program, run)
  auditCommand(program, run)
  backendCommands(program, run)
}

/** Every command's own mistakes in our form, with the way to its help. */
function settle(command: Command, path: string): void {
  command
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => undefined })
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new OperatorError(`${mistakeOf(error)} "${path} --help" shows how.`)
    })
  for (const child of command.commands) {
    child.copyInheritedSettings(command)
    settle(child, `${path} ${child.name()}`)
  }
}

function mistakeOf({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'Name a command.'
  const text = message.replace(/^error: /, '').replaceAll('\n', ' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?)]$/.test(text) ? '' : '.'}`
}
