/** What a person at the terminal sees, and their Ctrl-C. */
import { styleText } from 'node:util'
import { whenAborted } from '../lib/abort-signals.js'

export interface Stage {
  readonly text: string
  /** How much is done, 0 to 1. */
  readonly fraction?: number | undefined
}

type Style = 'bold' | 'dim' | 'cyan' | 'yellow'

const REDRAW_MS = 100
const BAR_WIDTH = 24
/** Where lines can't be rewritten, this much more progress makes a new line. */
const PLAIN_STEP = 0.1

/** Lines that stay, and below them a stage, its progress and time, rewritten in place if the output is a terminal. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream
  readonly #live: boolean
  readonly #colours: boolean
  #stage: Stage | undefined
  #since = 0
  #redraw: NodeJS.Timeout | undefined

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#live = stream.isTTY && process.env.TERM !== 'dumb'
    this.#colours = stream.isTTY && stream.hasColors() // honours NO_COLOR
  }

  /** A line, or several, that stay. */
  say(text: string): void {
    this.#erase()
    this.#stream.write(`${text}\n`)
    this.#draw()
  }

  warn(text: string): void {
    this.say(this.style('yellow', text))
  }

  style(style: Style, text: string): string {
    return this.#colours ? styleText(style, text, { validateStream: false }) : text
  }

  /** Time counts from the first stage after a clear(). */
  show(stage: Stage): void {
    const before = this.#stage
    if (!before) this.#since = performance.now()
    this.#stage = stage
    if (this.#live) {
      this.#draw()
      this.#redraw ??= setInterval(() => this.#draw(), REDRAW_MS)
      this.#redraw.unref()
    } else if (before?.text !== stage.text || (stage.fraction ?? 0) >= (before.fraction ?? 0) + PLAIN_STEP) {
      const texts = partsOf(stage, this.#since, 0).map(([text]) => text)
      this.#stream.write(`${texts.join('  ')}\n`)
    } else this.#stage = before
  }

  /** Removes the live line. */
  clear(): void {
    this.#erase()
    clearInterval(this.#redraw)
    this.#redraw = undefined
    this.#stage = undefined
  }

  #erase(): void {
    if (this.#live && this.#stage) this.#stream.write('\r\x1b[K')
  }

  #draw(): void {
    if (!this.#live || !this.#stage) return
    // The last column stays free: some terminals wrap when it is written.
    let room = (this.#stream.columns || 80) - 1
    let line = ''
    for (const [text, style] of partsOf(this.#stage, this.#since, room)) {
      const shown = (line ? `  ${text}` : text).slice(0, room)
      room -= shown.length
      line += style ? this.style(style, shown) : shown
    }
    this.#stream.write(`\r${line}\x1b[K`)
  }
}

/** `room`: columns; 0 means no bar. */
function partsOf({ text, fraction }: Stage, since: number, room: number): [string, Style?][] {
  const time: [string, Style] = [elapsed(performance.now() - since), 'dim']
  if (fraction === undefined) return [[text], time]
  const percent = `${Math.round(fraction * 100)} %`.padStart(5)
  const width = Math.min(BAR_WIDTH, room - text.length - percent.length - time[0].length - 6)
  if (width < 4) return [[text], [percent.trim()], time]
  const done = Math.round(fraction * width)
  return [[text], [`${'━'.repeat(done)}${'─'.repeat(width - done)}`, 'cyan'], [percent], time]
}

/** `4.2 s`, `2 min 05 s`. */
export function elapsed(ms: number): string {
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** One Ctrl-C arrives twice: from the terminal and from npm. */
const ECHO_MS = 500
const PARENT_POLL_MS = 1000

export type Interruption = ReturnType<typeof listenForInterruption>

/**
 * From here on signals no longer end the process. `asked` aborts with the first Ctrl-C, SIGTERM or SIGHUP, or when npm
 * was killed: stop in order. `forced` aborts with the second: stop immediately.
 */
export function listenForInterruption() {
  const asked = new AbortController()
  const forced = new AbortController()
  let askedAt = 0
  const interrupt = () => {
    if (!asked.signal.aborted) {
      askedAt = performance.now()
      asked.abort()
    } else if (performance.now() - askedAt > ECHO_MS) forced.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  // A killed npm sends its child no signal, but the child then gets another parent.
  const npm = process.env.npm_lifecycle_event ? process.ppid : undefined
  if (npm) setInterval(() => process.ppid !== npm && asked.abort(), PARENT_POLL_MS).unref()
  return { asked: asked.signal, forced: forced.signal }
}

/** The value of `work`, unless an interruption comes first; what `work` does goes on. */
export const unlessInterrupted = <T>(work: Promise<T>, { asked }: Interruption): Promise<T> =>
  Promise.race([work, whenAborted(asked).then(() => Promise.reject(asked.reason))])
