import { createInterface } from 'node:readline/promises'
import type { ReadStream } from 'node:tty'
import type { Confirm } from './arguments.js'

/** Asks a person, whose end of input or Ctrl-C means no. What is piped in answers nothing: it may be a list of commands. */
export function confirmer(
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>>,
  output: NodeJS.WritableStream,
): Confirm {
  return async (question) => {
    if (!input.isTTY) return false
    const lines = createInterface({ input, output })
    const ended = new AbortController()
    lines.once('close', () => ended.abort())
    try {
      return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `, ended)).trim())
    } catch {
      return false
    } finally {
      lines.close()
    }
  }
}
