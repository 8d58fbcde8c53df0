import { setTimeout as delay } from 'node:timers/promises'
import type { Interruption } from './interruption.js'
import { isTaken } from './listening-port.js'
import { howToGetRealPictures, whyNothingIsDrawn } from './real-pictures.js'
import { findRunningStack, fingerprintOf, forgetRunningStack, noteRunningStack } from './running-stack.js'
import { plannedConfig, type Stack, startStack } from './stack.js'
import { openStateDirectory, type StateDirectory } from './state-directory.js'
import { elapsed, type LiveLine } from './terminal.js'

/** The services of a killed run finish what they draw before they leave the port; see worker.ts. */
const LEFTOVERS_GONE_WITHIN_MS = 40_000

/** `npm start`: the one-machine stack, until an interruption ends it. Returns the exit code. */
export async function runStart(terminal: LiveLine, interruption: Interruption): Promise<number> {
  const { host, port } = plannedConfig()
  const state = await openStateDirectory()
  await requireFree(state, host, port, terminal, interruption)
  const began = performance.now()
  const onTrouble = (line: string) => terminal.say(terminal.style('yellow', line))
  const fingerprint = fingerprintOf(process.env)
  await noteRunningStack(state.runningStack, { fingerprint })
  try {
    const onStep = (text: string) => terminal.show({ text })
    const stack = await startStack({ state, port, interruption, onStep, onTrouble })
    const { baseUrl: url, databaseUrl } = stack.config
    await noteRunningStack(state.runningStack, { fingerprint, url, databaseUrl })
    terminal.clear()
    terminal.say(welcome(stack, state, terminal, performance.now() - began))
    return await untilEnd(stack, terminal, interruption)
  } catch (error) {
    if (interruption.asked.aborted && error === interruption.asked.reason) return sayStopped(terminal)
    throw error
  } finally {
    await forgetRunningStack(state.runningStack)
  }
}

async function untilEnd(stack: Stack, terminal: LiveLine, { asked }: Interruption): Promise<number> {
  const ends = new Promise<undefined>((resolve) =>
    asked.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
  const broken = await Promise.race([stack.broken, asked.aborted ? undefined : ends])
  if (!broken)
    terminal.say('') // the terminal has written ^C
  else process.stderr.write(`error: ${broken}\n`)
  terminal.show({ text: broken ? 'Stopping the rest' : 'Stopping; Ctrl-C again ends at once' })
  await stack.stop()
  return broken ? 1 : sayStopped(terminal)
}

function sayStopped(terminal: LiveLine): number {
  terminal.clear()
  terminal.say('Stopped. Everything is kept in .easel/ for the next start.')
  return 0
}

/** @throws Error with one sentence when this directory's stack runs already, or the port is someone else's */
async function requireFree(
  state: StateDirectory,
  host: string,
  port: number,
  terminal: LiveLine,
  { asked }: Interruption,
) {
  const other = await findRunningStack(state.runningStack)
  if (other?.alive)
    throw new Error(
      `Easel already runs in this directory${other.url ? `, at ${other.url}` : ''}: use that one, or stop it first with "kill ${other.pid}".`,
    )
  for (const deadline = Date.now() + LEFTOVERS_GONE_WITHIN_MS; await isTaken(host, port); await delay(100)) {
    if (!other || asked.aborted || Date.now() > deadline)
      throw new Error(`Port ${port} is already in use: set PORT to a free one, like "PORT=${port + 1} npm start".`)
    terminal.show({ text: 'Waiting for the server of a killed run to end' })
  }
  terminal.clear()
}

function welcome(
  { config, account, modelVersionId, served }: Stack,
  state: StateDirectory,
  terminal: LiveLine,
  ms: number,
): string {
  const title = (text: string) => terminal.style('bold', text)
  const authorization = `-H "Authorization: Bearer ${account.key}"`
  const body = JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: modelVersionId })
  const notes = [
    whyNothingIsDrawn(config.inferenceUrls, served),
    howToGetRealPictures(config.inferenceUrls, 'npm start'),
  ]
  const generate = `${config.baseUrl}/api/v1/generate`
  return [
    '',
    `${title('Easel is ready')} ${terminal.style('dim', `after ${elapsed(ms)}`)}`,
    '',
    `  Website  ${config.baseUrl}`,
    `  Key      ${account.key}`,
    `           of the user ${account.username}, who has ${account.credits} credits; kept in .easel/demo-key`,
    `  Data     ${state.path}`,
    '',
    title('Ask for a picture'),
    '',
    `curl -s "${generate}" ${authorization} -H "Content-Type: application/json" -d '${body}'`,
    '',
    `${title('See how it does')}, with the id of the answer in place of ID`,
    '',
    `curl -s "${generate}/ID" ${authorization}`,
    '',
    ...notes.filter((note) => note !== undefined),
    'Ctrl-C stops everything.',
  ].join('\n')
}
