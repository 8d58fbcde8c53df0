import { AppError } from '../errors.js'
import type { ActedBy } from './operator-actions.js'

export const PAUSE_SCOPES = ['all', 'model', 'backend'] as const

/** What workers leave waiting: everything, the generations of one model file, or all that one backend could do. */
export interface Pausable {
  readonly scope: (typeof PAUSE_SCOPES)[number]
  /** The model file or the backend's name; empty for everything. */
  readonly target: string
}

export interface Pause extends Pausable {
  readonly reason: string
  readonly pausedAt: Date
}

/** Both record the act with it. False: it was so before, and nothing was changed. */
export interface PauseStore {
  /** Claims that begin later leave it waiting; what runs goes on. */
  pause(what: Pausable, by: ActedBy): Promise<boolean>
  /** Wakes the workers at once. */
  resume(what: Pausable, by: ActedBy): Promise<boolean>
  list(): Promise<Pause[]>
  /** Whether a model version has this file, or a worker has lately reported this backend. */
  knows(what: Pausable): Promise<boolean>
}

/** Pauses all, a model or a backend. @throws not_found; invalid_request if it is paused already */
export async function pause(pauses: PauseStore, what: Pausable, by: ActedBy): Promise<void> {
  if (!(await pauses.knows(what)))
    throw new AppError(
      'not_found',
      what.scope === 'model'
        ? `No model version has the file "${what.target}": choose one of the list of models.`
        : `No worker reports a backend "${what.target}": choose one of the list of backends.`,
    )
  if (!(await pauses.pause(what, by)))
    throw new AppError(
      'invalid_request',
      `${upper(nameOf(what))} is paused already: resume it first to change the reason.`,
    )
}

/** Lets workers claim it again. @throws invalid_request if it is not paused */
export async function resume(pauses: PauseStore, what: Pausable, by: ActedBy): Promise<void> {
  if (!(await pauses.resume(what, by)))
    throw new AppError('invalid_request', `${upper(nameOf(what))} is not paused: there is nothing to resume.`)
}

/** In a sentence. */
export const nameOf = ({ scope, target }: Pausable): string =>
  scope === 'all' ? 'everything' : `${scope === 'model' ? 'the model' : 'the backend'} ${target}`

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
