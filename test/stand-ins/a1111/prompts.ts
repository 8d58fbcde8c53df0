import type { Drawing } from './dialects.js'

/** What a server makes of a prompt before its text encoder gets it. */
export interface ReadPrompt {
  readonly text: string
  /** The files that it loads, as `lora:name:0.8`, or writes into the text, as `wildcard:name`. */
  readonly files: readonly string[]
}

/** In JavaScript as `\w` is in Python. */
const NETWORK = /<([\p{L}\p{N}_]+):([^>]+)>/gu

/** As modules/extra_networks.py and what comes before it read a prompt in each of the servers. */
export function readPrompt(dialect: Drawing, prompt: string): ReadPrompt {
  const files: string[] = []
  const strip = (text: string) =>
    text.replace(NETWORK, (_, name: string, args: string) => {
      files.push(`${name}:${args}`)
      return ''
    })
  if (dialect !== 'sdnext') return { text: strip(withoutLineComments(prompt)), files }
  const chosen = withChoices(withoutComment(prompt))
  // Each of its files `anything.txt` has the one line "wild".
  const expanded = chosen.replace(/__(.*?)__/gs, (_, name: string) => {
    files.push(`wildcard:${name}`)
    return 'wild'
  })
  // Twice: when the batch begins, and when its pipeline is called.
  return { text: strip(strip(expanded)), files }
}

const withoutLineComments = (text: string) => text.replace(/(^|\n)#[^\n]*(\n|$)/g, '\n').replace(/#[^\n]*(\n|$)/g, '\n')

function withoutComment(text: string): string {
  const comment = /\/\*.*?\*\//s.exec(text)?.[0]
  return comment === undefined ? text : text.replaceAll(comment, '')
}

/** The first of `{a|b}`, innermost braces first, where the server draws one at random. */
function withChoices(text: string): string {
  const innermost = /\{([^{}]*)\}/s.exec(text)
  if (!innermost) return text.trim()
  const [whole, inner = ''] = innermost
  const choice = (inner.split('|')[0] ?? '').trim().replace(/^([^<([{]*):[^:]*$/s, '$1')
  return withChoices(text.slice(0, innermost.index) + choice.trim() + text.slice(innermost.index + whole.length))
}
