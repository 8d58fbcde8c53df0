/** Entry point: `npm start` and `npm run demo`, the whole service on this machine. */
import { messageOf } from './lib/causes.js'
import { runDemo } from './local/demo.js'
import { runStart } from './local/stack.js'
import { LiveLine, listenForInterruption } from './local/terminal.js'

const USAGE = `npm start                               the whole service on this machine, until Ctrl-C
npm run demo -- "a lighthouse at dusk"  one image, from start to end`

const DEFAULT_PROMPT = 'a lighthouse at dusk'

const [command, ...words] = process.argv.slice(2)
const interruption = listenForInterruption()
const terminal = new LiveLine(process.stdout)
// The reader may go (`| head`); what was started must still be stopped.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

try {
  process.exit(await run())
} catch (error) {
  terminal.clear()
  process.stderr.write(`error: ${messageOf(error)}\n`)
  process.exit(1)
}

async function run(): Promise<number> {
  if (words.includes('--help') || words.includes('-h')) {
    terminal.say(USAGE)
    return 0
  }
  if (command === 'start' && words.length === 0) return runStart(terminal, interruption)
  if (command === 'demo' && !words[0]?.startsWith('-')) {
    return runDemo(words.join(' ').trim() || DEFAULT_PROMPT, terminal, interruption)
  }
  process.stderr.write(`error: "${[command, ...words].join(' ')}" is not understood. Use:\n${USAGE}\n`)
  return 1
}
