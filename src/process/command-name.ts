/** How a person calls the command line here: from a checkout, from its build, in the image, or as EASEL_COMMAND says. */
import { basename } from 'node:path'

const commandName = (): string => {
  const { EASEL_COMMAND } = process.env
  if (EASEL_COMMAND) return EASEL_COMMAND
  if (import.meta.url.endsWith('.ts')) return 'npm run cli --'
  return basename(process.argv[1] ?? '') === 'easel' ? 'easel' : 'node dist/cli.js'
}

export const COMMAND = commandName()

/** A sentence that names commands as `"easel …"`, with the name that works here. */
export const withCommand = (sentence: string, name = COMMAND): string => sentence.replaceAll('"easel ', `"${name} `)
