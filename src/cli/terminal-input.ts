import { createInterface } from 'node:readline'
import * as answering from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import type { Confirm } from './arguments.js'
import { OperatorError } from './operator-error.js'

/** Asks a person, whose end of input or Ctrl-C means no. What is piped in answers nothing: it may be a list of commands. */
export function confirmer(
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>>,
  output: NodeJS.WritableStream,
): Confirm {
  return async (question) => {
    if (!input.isTTY) return false
    const lines = answering.createInterface({ input, output })
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

/** Reads a password: from a person, who is asked twice and sees nothing of it, else the first line of what is piped in. */
export function passwordReader(input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>>, prompts: Writable) {
  return async (): Promise<string> => {
    const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
    const lines = createInterface({ input, output: silence, terminal: input.isTTY === true })
    const typed: string[] = []
    const wanted = input.isTTY ? ['Password: ', 'Once more: '] : ['']
    try {
      lines.setPrompt('')
      lines.on('SIGINT', () => lines.close())
      for await (const line of asked(lines, wanted, prompts)) typed.push(line)
    } finally {
      lines.close()
    }
    const [first = '', again = first] = typed
    // Some shells put a mark before what they pipe.
    const password = input.isTTY ? first : first.replace(/^\ufeff/, '')
    if (/[\0\ufffd]/.test(password))
      throw new OperatorError(
        'The password is not text in UTF-8, so nothing was changed: set the encoding of your terminal.',
      )
    if (typed.length < wanted.length) throw new OperatorError('No password was given, so nothing was changed.')
    if (input.isTTY && password !== again) throw new OperatorError('The two passwords differ, so nothing was changed.')
    return password
  }
}

async function* asked(lines: AsyncIterable<string>, wanted: readonly string[], prompts: Writable) {
  const typed = lines[Symbol.asyncIterator]()
  for (const prompt of wanted) {
    prompts.write(prompt)
    const { value, done } = await typed.next()
    if (prompt !== '') prompts.write('\n')
    if (done) return
    yield value
  }
}
