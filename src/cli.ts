#!/usr/bin/env node
import { runCli } from './cli/run-cli.js'
/** Entry point: the operator's command line. */
import { confirmer, passwordReader } from './cli/terminal-input.js'
import { COMMAND } from './process/command-name.js'
import { tidyForLibraries } from './process/environment.js'

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
tidyForLibraries(process.env)
const exitCode = await runCli(process.argv.slice(2), process.env, {
  stdout: process.stdout,
  stderr: process.stderr,
  readPassword: passwordReader(process.stdin, process.stderr),
  confirm: confirmer(process.stdin, process.stderr),
  command: COMMAND,
})
// All is closed and written by now (pipes and files are written at once here); a client's timer would still hold us up.
process.exit(exitCode)
