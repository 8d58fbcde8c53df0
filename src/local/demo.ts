import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createEasel, EaselError, type Generated, type Progress, type Prompt } from '../client/easel-client.js'
import { reasonOf } from '../lib/causes.js'
import { prepareDemo } from './demo-account.js'
import { freePort, isTaken } from './listening-port.js'
import { errorCode } from './processes.js'
import {
  beginRun,
  DEFAULT_PORT,
  givenEnvironment,
  howToGetRealImages,
  type LocalRun,
  type Stack,
  startStack,
  whyNothingIsDrawn,
} from './stack.js'
import { findRunningStack } from './state-directory.js'
import { elapsed, type Interruption, type LiveLine, type Stage } from './terminal.js'

/** The service that the demo calls, its own or the one that `npm start` keeps running, and what to say at the end. */
type DemoService = Stack & { readonly farewell: string }

interface ImageClient {
  /** The public origin. */
  readonly baseUrl: string
  readonly key: string
  readonly show: (stage: Stage) => void
  readonly signal: AbortSignal
  /** How long a server that doesn't answer is retried; shorter in tests. */
  readonly unreachableMs?: number
}

const INTERRUPTED = 130
/** After this time the services' warnings are shown: they may explain the delay. */
const SLOW_MS = 6000
const DOWNLOAD_MS = 30_000
const UNREACHABLE_MS = 6000
/** How long a server that answers 503 is retried. */
const BUSY_MS = 300_000

/** `npm run demo`: one image through the whole service, started for it if need be. Returns the exit code. */
export async function runDemo(prompt: string, terminal: LiveLine, interruption: Interruption): Promise<number> {
  const run = await beginRun(terminal, interruption)
  const warnings = holdWarnings((line) => terminal.warn(line))
  let service: DemoService | undefined
  const stop = async () => {
    terminal.clear()
    terminal.show({ text: 'Stopping' })
    await service?.stop()
    terminal.clear()
  }
  try {
    service = (await findRunning(run)) ?? (await startOwn(run, warnings.add))
    const { config, account, modelVersionId, broken, farewell } = service
    const waits = whyNothingIsDrawn(service)
    if (waits) terminal.warn(waits)
    const began = performance.now()
    const slow = setTimeout(warnings.release, SLOW_MS)
    const show = (stage: Stage) => terminal.show(stage)
    const client = { baseUrl: config.baseUrl, key: account.key, signal: interruption.asked, show }
    // The death of a process explains more than a request without an answer.
    const partDied = broken.then((sentence) => Promise.reject(new Error(sentence)))
    const image = await Promise.race([generateImage(client, { prompt, model_version_id: modelVersionId }), partDied])
    clearTimeout(slow)
    terminal.clear()
    terminal.say(`Drawn in ${elapsed(performance.now() - began)}: ${image.width}×${image.height}, seed ${image.seed}.`)
    terminal.say(`  File  ${await save(image, prompt, run.state.demoImages)}`)
    terminal.say(`  URL   ${image.url}`)
    await stop()
    terminal.say(farewell)
    const note = howToGetRealImages(run.config, `npm run demo -- "${prompt.replace(/["$`\\]/g, '\\$&')}"`)
    if (note) terminal.say(note)
    return 0
  } catch (error) {
    if (service) await stop()
    terminal.clear()
    if (!interruption.asked.aborted) {
      warnings.release()
      throw error
    }
    terminal.say('Stopped before the image was there.')
    return INTERRUPTED
  }
}

/** The stack that `npm start` runs here, if it is ready and was started with the same variables. */
async function findRunning({ config, state, terminal }: LocalRun): Promise<DemoService | undefined> {
  const { isAlive, isAlike, url, databaseUrl } = (await findRunningStack(state)) ?? {}
  if (!isAlive || !isAlike || !url || !databaseUrl) return undefined
  const ready = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined)
  if (!ready?.ok) return undefined
  const access = await prepareDemo({ ...config, databaseUrl }, state.demoKey)
  terminal.say(`Easel runs here already, at ${url}.`)
  return {
    ...access,
    config: { ...config, baseUrl: url },
    broken: new Promise(() => undefined),
    farewell: 'Easel keeps running.',
    stop: async () => undefined,
  }
}

/** @throws Error with one sentence, or the reason of the interruption; nothing is left running by then */
async function startOwn(run: LocalRun, onWarning: (line: string) => void): Promise<DemoService> {
  const began = performance.now()
  const { terminal, config } = run
  const port = (await isTaken(config.host, config.port)) ? await freePort(config.host) : config.port
  const stack = await startStack(run, port, onWarning)
  terminal.clear()
  const parts = givenEnvironment().DATABASE_URL ? 'server and worker' : 'Postgres, server and worker'
  terminal.say(`Started ${parts} in ${elapsed(performance.now() - began)}; they serve ${stack.config.baseUrl}.`)
  const again = port === DEFAULT_PORT ? 'npm start' : `PORT=${port} npm start`
  return { ...stack, farewell: `All of it is stopped again; the URL answers whenever "${again}" runs.` }
}

/** Submits a generation, shows its progress, downloads its image. @throws Error with the service's own sentence */
export async function generateImage(client: ImageClient, prompt: Prompt) {
  client.show({ text: 'Submitting' })
  const { images, seed } = await generatePatiently(client, prompt)
  const { url, id: slug } = images[0] as Generated['images'][0]
  return { url, slug, seed, ...(await download(client, url)) }
}

async function generatePatiently(client: ImageClient, prompt: Prompt): Promise<Generated> {
  const { baseUrl, key, show, signal, unreachableMs = UNREACHABLE_MS } = client
  const fetchAndTell = async (request: Request) => {
    const response = await fetch(request)
    const isEarlier = response.headers.get('x-error-code') === 'active_generation'
    const text = isEarlier ? 'Waiting for an earlier generation to end' : 'Waiting for the service'
    if (response.status === 429 || response.status === 503) show({ text })
    return response
  }
  const easel = createEasel({ baseUrl, apiKey: key, fetch: fetchAndTell })
  const onProgress = ({ status, queuePosition, progress }: Progress) =>
    show(status === 'queued' ? { text: `Queued, place ${queuePosition}` } : { text: 'Drawing', fraction: progress })
  const options = { signal, onProgress, outageMs: unreachableMs, idempotencyKey: randomUUID() }
  for (const deadline = Date.now() + BUSY_MS; ; ) {
    try {
      return await easel.generate(prompt, options)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof EaselError)) throw error
      // The retry has the same Idempotency-Key, so it follows the generation that was submitted before.
      if (error.status !== 503 || Date.now() > deadline) throw new Error(sentenceOf(error, baseUrl), { cause: error })
    }
  }
}

function sentenceOf({ code, status, message, cause }: EaselError, baseUrl: string): string {
  if (code === 'generation_failed') return `The generation failed: ${message}`
  if (code === 'unreachable')
    return `${baseUrl} doesn't answer (${reasonOf(cause)}): BASE_URL must lead to this server.`
  // Easel's own refusals have a code.
  if (code === `http_${status}`)
    return `${baseUrl}/api/v1/generate answered ${status}, and not as Easel does: BASE_URL must lead to this server.`
  return message
}

async function download({ show, signal }: ImageClient, url: string) {
  show({ text: 'Downloading' })
  let png: Buffer
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]) })
    if (!response.ok) throw new Error(`status ${response.status}`)
    png = Buffer.from(await response.arrayBuffer())
  } catch (cause) {
    signal.throwIfAborted()
    const why = reasonOf(cause)
    throw new Error(`The image was made, but ${url} can't be fetched (${why}): CDN_BASE_URL must lead to it.`, {
      cause,
    })
  }
  if (png.toString('latin1', 1, 4) !== 'PNG')
    throw new Error(`What ${url} gives is no PNG: CDN_BASE_URL must lead to the images.`)
  return { png, width: png.readUInt32BE(16), height: png.readUInt32BE(20) }
}

async function save({ png, slug }: Awaited<ReturnType<typeof generateImage>>, prompt: string, directory: string) {
  const words = prompt.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? ['image']
  const file = join(directory, `${[...words.join('-')].slice(0, 40).join('')}-${slug.slice(0, 6)}.png`)
  try {
    await mkdir(directory, { recursive: true })
    await writeFile(file, png)
  } catch (cause) {
    const why = errorCode(cause)
    throw new Error(`The image was made, but it can't be saved as ${file} (${why}): make room for it.`, { cause })
  }
  return file
}

/** Holds the services' warnings back until `release`, and prints later ones immediately. */
function holdWarnings(print: (line: string) => void) {
  let held: string[] | undefined = []
  return {
    add: (line: string) => void (held ? held.push(line) : print(line)),
    release: () => {
      held?.forEach(print)
      held = undefined
    },
  }
}
