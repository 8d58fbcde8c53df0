import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { LINK_MINUTES } from '../core/accounts/session.js'
import { migrateDatabase } from '../db/migrations/migrate.js'
import { reasonOf } from '../lib/causes.js'
import { printable } from '../lib/text.js'
import { COMMAND } from '../process/command-name.js'
import { type Config, parseConfig } from '../process/config.js'
import { readEnvironment } from '../process/environment.js'
import { type DemoAccess, demoSignInLink, prepareDemo } from './demo-account.js'
import { isTaken } from './listening-port.js'
import { startLocalPostgres } from './postgres.js'
import { sendSignal } from './processes.js'
import { launchService, openServiceLog } from './service-process.js'
import { findRunningStack, noteRunningStack, openStateDirectory, writePrivately } from './state-directory.js'
import { elapsed, type Interruption, type LiveLine, unlessInterrupted } from './terminal.js'

/** What `npm start` and `npm run demo` work with. */
export type LocalRun = Awaited<ReturnType<typeof beginRun>>

export type Stack = Awaited<ReturnType<typeof startStack>>

/** The services of a killed run finish their generations before they free the port; see worker.ts. */
const LEFTOVERS_GONE_WITHIN_MS = 40_000
const POSTGRES_POLL_MS = 1000
/** A placeholder for a database that is not started yet, so that the other variables can be checked first. */
const PLACEHOLDER_URL = 'postgres://localhost/not-started-yet'

export const DEFAULT_PORT = parseConfig({ DATABASE_URL: PLACEHOLDER_URL }).port

/** The variables of this process, with a database that a file names. @throws ConfigError */
export const givenEnvironment = () => readEnvironment(process.env, ['DATABASE_URL'])

/** Checks the configuration. @throws ConfigError before anything is made; Error when `.easel` can't be used */
export async function beginRun(terminal: LiveLine, interruption: Interruption) {
  const config = parseConfig({ DATABASE_URL: PLACEHOLDER_URL, ...givenEnvironment() })
  return { config, state: await openStateDirectory(), terminal, interruption }
}

/**
 * Starts Postgres (unless DATABASE_URL names one), brings the database up to date, and starts server and worker.
 * @param onWarning called with each warning of a service, as one line
 * @throws Error with one sentence, or the reason of the interruption; what was started is stopped again by then
 */
export async function startStack(run: LocalRun, port: number, onWarning: (line: string) => void) {
  const { state, terminal, interruption } = run
  const onStep = (text: string) => terminal.show({ text })
  const closing: (() => Promise<unknown>)[] = []
  const ends: Promise<string>[] = []
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  const openPostgres = async () => {
    onStep('Starting Postgres')
    const { url, pid, stop } = await startLocalPostgres({ dataDir: state.postgres })
    closing.push(stop)
    ends.push(whenGone(pid).then(() => 'Postgres ended by itself: see .easel/postgres/server.log.'))
    await writePrivately(state.databaseUrl, `${url}\n`)
    return url
  }
  const launch = async (name: 'server' | 'worker', env: NodeJS.ProcessEnv) => {
    const log = await openServiceLog(state.logs, name, onWarning)
    const service = launchService(name, env, log)
    closing.push(() => service.stop(interruption.forced))
    ends.push(service.ended.then((how) => `The ${name} ended by itself (${how}): see ${log.file}.`))
    return service
  }
  try {
    const given = givenEnvironment()
    const databaseUrl = given.DATABASE_URL ?? (await openPostgres())
    interruption.asked.throwIfAborted()
    const env = { ...given, PORT: String(port), DATABASE_URL: databaseUrl }
    const config = parseConfig(env)
    onStep('Preparing the database')
    await migrate(databaseUrl)
    interruption.asked.throwIfAborted()
    onStep('Starting server and worker')
    // The server is stopped first: its last clients may wait for the worker's generations.
    const services = [await launch('worker', env), await launch('server', env)]
    const whenReady = Promise.all(services.map(({ ready }) => ready))
    const access = await unlessInterrupted(prepareDemo(config, state.demoKey, whenReady), interruption)
    return {
      config,
      ...access,
      /** Settles with one sentence when a part ends by itself. */
      broken: Promise.race(ends),
      /** Stops server, worker and Postgres in this order, and returns when nothing of them is left. */
      stop,
    }
  } catch (error) {
    if (closing.length > 0) onStep('Stopping')
    await stop()
    throw error
  }
}

async function migrate(databaseUrl: string): Promise<void> {
  try {
    await migrateDatabase(databaseUrl)
  } catch (cause) {
    throw new Error(
      `The database can't be used (${reasonOf(cause)}): check DATABASE_URL and that Postgres runs there.`,
      { cause },
    )
  }
}

/** Postgres may have been found running, so it is not always a child of ours. */
async function whenGone(pid: number): Promise<void> {
  while (sendSignal(pid, 0)) await delay(POSTGRES_POLL_MS, undefined, { ref: false })
}

/** `npm start`: the one-machine stack, until an interruption ends it. Returns the exit code. */
export async function runStart(terminal: LiveLine, interruption: Interruption): Promise<number> {
  const run = await beginRun(terminal, interruption)
  const { config, state } = run
  await requireFree(run)
  const began = performance.now()
  await noteRunningStack(state)
  try {
    const stack = await startStack(run, config.port, (line) => terminal.warn(line))
    const { baseUrl: url, databaseUrl } = stack.config
    await noteRunningStack(state, { url, databaseUrl })
    // Somebody else's database does not get an operator.
    const isOwn = givenEnvironment().DATABASE_URL === undefined
    const link = await demoSignInLink(stack.config, isOwn)
    terminal.clear()
    terminal.say(welcome(run, { ...stack, link, isOwn }, performance.now() - began))
    const broken = await unlessInterrupted(stack.broken, interruption).catch(() => undefined)
    if (broken === undefined)
      terminal.say('') // the terminal has written ^C
    else process.stderr.write(`error: ${broken}\n`)
    terminal.show({ text: broken ? 'Stopping the rest' : 'Stopping; Ctrl-C again stops immediately' })
    await stack.stop()
    if (broken) return 1
  } catch (error) {
    if (!interruption.asked.aborted || error !== interruption.asked.reason) throw error
  } finally {
    await rm(state.runningStack, { force: true })
  }
  terminal.clear()
  terminal.say('Stopped. Everything is kept in .easel/ for the next start.')
  return 0
}

/** @throws Error with one sentence when this directory's stack runs already, or the port is someone else's */
async function requireFree({ config, state, terminal, interruption }: LocalRun): Promise<void> {
  const { host, port } = config
  const other = await findRunningStack(state)
  if (other?.isAlive)
    throw new Error(
      `Easel already runs in this directory${other.url ? `, at ${other.url}` : ''}: use that one, or stop it first with "kill ${other.pid}".`,
    )
  for (const deadline = Date.now() + LEFTOVERS_GONE_WITHIN_MS; await isTaken(host, port); await delay(100)) {
    if (!other || interruption.asked.aborted || Date.now() > deadline)
      throw new Error(`Port ${port} is already in use: set PORT to a free one, like "PORT=${port + 1} npm start".`)
    terminal.show({ text: 'Waiting for the server of a killed run to end' })
  }
  terminal.clear()
}

type Welcomed = Stack & { readonly link: string; readonly isOwn: boolean }

function welcome({ state, terminal }: LocalRun, stack: Welcomed, ms: number): string {
  const { config, account, modelVersionId, served, link, isOwn } = stack
  const title = (text: string) => terminal.style('bold', text)
  const authorization = `-H "Authorization: Bearer ${account.key}"`
  const body = JSON.stringify({ prompt: 'a lighthouse at dusk', model_version_id: modelVersionId })
  const generate = `${config.baseUrl}/api/v1/generate`
  return [
    '',
    `${title('Easel is ready')} ${terminal.style('dim', `after ${elapsed(ms)}`)}`,
    '',
    `${title('Open this in your browser')} and press the button${served ? ': the next page makes your first image' : ' to sign in'}`,
    '',
    `  ${terminal.style('bold', link)}`,
    '',
    `  It signs you in as ${account.username}${isOwn ? ', who is an operator here: this machine is yours' : ''}. It works once, within`,
    `  ${LINK_MINUTES} minutes; for another one: ${COMMAND} user sign-in-link ${account.username}`,
    '',
    `  Website  ${config.baseUrl}`,
    `  Key      ${account.key}`,
    `           of the user ${account.username}, who has ${account.credits} credits; kept in .easel/demo-key`,
    `  Data     ${state.path}`,
    '',
    // Where no GPU server has a model, this would fail.
    ...(served
      ? [
          title('Or ask for an image from the command line'),
          '',
          `curl -s "${generate}" ${authorization} -H "Content-Type: application/json" -d '${body}'`,
          '',
          `${title('See how it does')}, with the id of the answer in place of ID`,
          '',
          `curl -s "${generate}/ID" ${authorization}`,
          '',
        ]
      : []),
    ...[whyNothingIsDrawn(stack), howToGetRealImages(config, 'npm start')].flatMap((note) => (note ? [note, ''] : [])),
    'Ctrl-C stops everything.',
  ].join('\n')
}

/** How to attach a GPU server if there is only the preview backend. */
export function howToGetRealImages({ inferenceUrls }: Config, command: string): string | undefined {
  if (!inferenceUrls.every(isPreview)) return undefined
  return `Images here are stand-ins, drawn without a GPU. For real ones: INFERENCE_URL=a1111+http://host:7860 ${command}`
}

/** What is missing if no backend has a model of the catalog. */
export function whyNothingIsDrawn({ served, backends }: Pick<DemoAccess, 'served' | 'backends'>): string | undefined {
  if (served) return undefined
  const up = backends.filter((it) => it.up)
  if (up.length === 0) {
    const why = backends.map(({ name, error }) => printable(error === null ? name : `${name}: ${error}`))
    return `No GPU server answers (${why.join('; ')}): start one, or correct INFERENCE_URL. Generations wait in the queue until one does.`
  }
  return [
    ...up.map(({ name, models }) => `${name} answers, but has no model of the catalog; ${shownModels(models ?? [])}.`),
    'What is asked for now fails with a refund. Import what is there: docs/operators.md says how under "Models".',
    `For a workflow of ComfyUI, begin with: ${COMMAND} workflow check FILE`,
  ].join('\n')
}

const SHOWN_MODELS = 5

function shownModels(models: readonly string[]): string {
  const more = models.length > SHOWN_MODELS ? ` and ${models.length - SHOWN_MODELS} more` : ''
  // The server has named them.
  return models.length > 0
    ? printable(`it has ${models.slice(0, SHOWN_MODELS).join(', ')}${more}`)
    : 'it has no checkpoints'
}

const isPreview = (url: string): boolean => url.startsWith('preview:')
