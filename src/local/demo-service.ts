import { type Demo, prepareDemo } from './demo-account.js'
import type { Interruption } from './interruption.js'
import { freePort, isTaken } from './listening-port.js'
import { findRunningStack, fingerprintOf } from './running-stack.js'
import { DEFAULT_PORT, plannedConfig, startStack } from './stack.js'
import type { StateDirectory } from './state-directory.js'
import { elapsed, type LiveLine } from './terminal.js'

/** The service that the demo calls: its own, or the one that `npm start` keeps running. */
export interface DemoService extends Demo {
  readonly baseUrl: string
  /** Settles with one sentence when a part of it ends by itself. */
  readonly broken: Promise<string>
  /** What to say at the end: when the picture's URL answers. */
  readonly farewell: string
  stop(): Promise<void>
}

/** @throws Error with one sentence, or the reason of the interruption; nothing is left running by then */
export async function openDemoService(
  state: StateDirectory,
  terminal: LiveLine,
  interruption: Interruption,
  onTrouble: (line: string) => void,
): Promise<DemoService> {
  return (await findRunning(state, terminal)) ?? (await startOwn(state, terminal, interruption, onTrouble))
}

/** A stack of other variables than ours would not do what we were asked for. */
async function findRunning(state: StateDirectory, terminal: LiveLine): Promise<DemoService | undefined> {
  const found = await findRunningStack(state.runningStack)
  if (!found?.alive || !found.url || !found.databaseUrl || found.fingerprint !== fingerprintOf(process.env))
    return undefined
  const { url: baseUrl, databaseUrl } = found
  const ready = await fetch(`${baseUrl}/ready`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined)
  if (!ready?.ok) return undefined
  const demo = await prepareDemo({ ...plannedConfig(), databaseUrl }, state.demoKey)
  terminal.say(`Easel runs here already, at ${baseUrl}.`)
  return {
    ...demo,
    baseUrl,
    broken: new Promise(() => undefined),
    farewell: 'Easel keeps running.',
    stop: async () => undefined,
  }
}

async function startOwn(
  state: StateDirectory,
  terminal: LiveLine,
  interruption: Interruption,
  onTrouble: (line: string) => void,
): Promise<DemoService> {
  const began = performance.now()
  const { host, port: wished } = plannedConfig()
  const port = (await isTaken(host, wished)) ? await freePort(host) : wished
  const onStep = (text: string) => terminal.show({ text })
  const stack = await startStack({ state, port, interruption, onStep, onTrouble })
  const { config, broken, account, modelVersionId, served } = stack
  terminal.clear()
  const parts = process.env.DATABASE_URL ? 'server and worker' : 'Postgres, server and worker'
  terminal.say(`Started ${parts} in ${elapsed(performance.now() - began)}; they serve ${config.baseUrl}.`)
  return {
    account,
    modelVersionId,
    served,
    broken,
    baseUrl: config.baseUrl,
    farewell: `All of it is stopped again; the URL answers whenever "${port === DEFAULT_PORT ? '' : `PORT=${port} `}npm start" runs.`,
    stop: stack.stop,
  }
}
