import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DemoService, openDemoService } from './demo-service.js'
import { generatePicture, type Picture } from './generate-picture.js'
import type { Interruption } from './interruption.js'
import { howToGetRealPictures, whyNothingIsDrawn } from './real-pictures.js'
import { errorCode } from './run-as.js'
import { plannedConfig } from './stack.js'
import { openStateDirectory } from './state-directory.js'
import { elapsed, type LiveLine } from './terminal.js'

const INTERRUPTED = 130
/** From then on what the services warn of is shown: it may be why nothing moves. */
const SLOW_MS = 6000

/** `npm run demo`: one picture through the whole service, which is started for it and stopped after it. Returns the exit code. */
export async function runDemo(prompt: string, terminal: LiveLine, interruption: Interruption): Promise<number> {
  const { inferenceUrls } = plannedConfig()
  const state = await openStateDirectory()
  const troubles = new Troubles((line) => terminal.say(terminal.style('yellow', line)))
  let service: DemoService | undefined
  try {
    service = await openDemoService(state, terminal, interruption, (line) => troubles.add(line))
    const waits = whyNothingIsDrawn(inferenceUrls, service.served)
    if (waits) terminal.say(terminal.style('yellow', waits))
    const began = performance.now()
    const slow = setTimeout(() => troubles.tell(), SLOW_MS)
    const picture = await unlessBroken(service, draw(service, prompt, terminal, interruption))
    clearTimeout(slow)
    terminal.clear()
    terminal.say(
      `Drawn in ${elapsed(performance.now() - began)}: ${picture.width}×${picture.height}, seed ${picture.seed}.`,
    )
    terminal.say(`  File  ${await save(picture, prompt, state.demoPictures)}`)
    terminal.say(`  URL   ${picture.url}`)
    await stop(service, terminal)
    terminal.say(service.farewell)
    const note = howToGetRealPictures(inferenceUrls, `npm run demo -- "${prompt.replace(/["$`\\]/g, '\\$&')}"`)
    if (note) terminal.say(note)
    return 0
  } catch (error) {
    if (service) await stop(service, terminal)
    terminal.clear()
    if (!interruption.asked.aborted) {
      troubles.tell()
      throw error
    }
    terminal.say('Stopped before the picture was there.')
    return INTERRUPTED
  }
}

const draw = (
  { baseUrl, account, modelVersionId }: DemoService,
  prompt: string,
  terminal: LiveLine,
  { asked }: Interruption,
) => {
  const client = { baseUrl, key: account.key, signal: asked, show: terminal.show.bind(terminal) }
  return generatePicture(client, prompt, modelVersionId, randomUUID())
}

/** When a part has died, that says more than the request that got no answer. */
const unlessBroken = <T>({ broken }: DemoService, work: Promise<T>): Promise<T> =>
  Promise.race([
    work,
    broken.then((sentence) => {
      throw new Error(sentence)
    }),
  ])

async function stop(service: DemoService, terminal: LiveLine): Promise<void> {
  terminal.clear()
  terminal.show({ text: 'Stopping' })
  await service.stop()
  terminal.clear()
}

async function save({ png, slug }: Picture, prompt: string, directory: string): Promise<string> {
  const words = prompt.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? ['picture']
  const file = join(directory, `${[...words.join('-')].slice(0, 40).join('')}-${slug.slice(0, 6)}.png`)
  try {
    await mkdir(directory, { recursive: true })
    await writeFile(file, png)
  } catch (error) {
    throw new Error(`The picture was made, but it can't be saved as ${file} (${errorCode(error)}): make room for it.`, {
      cause: error,
    })
  }
  return file
}

/** What the services warn of, kept back until it matters. */
class Troubles {
  readonly #say: (line: string) => void
  readonly #kept: string[] = []
  #telling = false

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  add(line: string): void {
    if (this.#telling) this.#say(line)
    else this.#kept.push(line)
  }

  tell(): void {
    this.#telling = true
    for (const line of this.#kept.splice(0)) this.#say(line)
  }
}
