import type { Config } from '../config.js'
import type { Operator } from './connection.js'

/** What a command answers: the same facts for programs and for people. */
export interface Answer {
  readonly json: unknown
  /** Without the line end. */
  readonly text: string
  /** 0 unless given. */
  readonly exitCode?: number
  /** A sentence for stderr about what is amiss; the exit code is then 1. */
  readonly complaint?: string
  /** A sentence for stderr that changes no exit code. */
  readonly warning?: string
}

/** Turns a command's work into an action for commander: arguments in, answer printed. */
export interface Runner {
  /** For work on the database; what was opened for it is closed. */
  connected<Args extends unknown[]>(
    work: (operator: Operator, ...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<void>
  /** For work that opens its own connections. */
  bare<Args extends unknown[]>(
    work: (config: Config, ...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<void>
  /** For work that needs no database, on a machine that may have none: looked for only when it is asked for. */
  unconnected<Args extends unknown[]>(
    work: (find: () => Promise<Config | undefined>, ...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<void>
}
