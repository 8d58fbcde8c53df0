/** What may become of one generation, as a pure function: what generation-runs.ts holds Postgres against. */

import type { GenerationStatus } from '../../../src/core/generations/generation.js'
import { MAX_DEATHS } from '../../../src/core/generations/run/times.js'

export interface State {
  readonly status: GenerationStatus
  readonly attempt: number
  readonly tries: number
  readonly deaths: number
  /** A worker has claimed it at least once. */
  readonly started: boolean
  /** `over`: its worker has stopped renewing it. */
  readonly lease: 'none' | 'held' | 'over'
  /** Put back, but not to be claimed yet. */
  readonly delayed: boolean
  readonly pastDeadline: boolean
}

/** A worker's writes carry the attempt that it claimed. */
export type Command =
  | { readonly do: 'claim' }
  | { readonly do: 'heartbeat' | 'succeed' | 'fail'; readonly attempt: number }
  | { readonly do: 'requeue'; readonly attempt: number; readonly countTry: boolean; readonly delayed: boolean }
  | { readonly do: 'lose the worker' | 'pass the deadline' | 'end the delay' | 'leave one death' }
  | { readonly do: 'requeueLost' | 'failLost' | 'failExpired' }
  | { readonly do: 'cancel'; readonly onlyQueued: boolean }

/** What the caller is told about this generation: whether it was done or, from a requeue, the new attempt. */
export type Answer = boolean | number | undefined

export const SUBMITTED: State = {
  status: 'queued',
  attempt: 1,
  tries: 0,
  deaths: 0,
  started: false,
  lease: 'none',
  delayed: false,
  pastDeadline: false,
}

export const isActive = ({ status }: State): boolean => status === 'queued' || status === 'processing'
export const isClaimable = ({ status, delayed, pastDeadline }: State): boolean =>
  status === 'queued' && !delayed && !pastDeadline

/** The state after a command, and its answer. What does not apply changes nothing. */
export function next(state: State, command: Command): readonly [State, Answer] {
  const is = (condition: boolean, then: Partial<State>): readonly [State, boolean] =>
    condition ? [{ ...state, ...then }, true] : [state, false]
  const processing = state.status === 'processing'
  const lost = processing && state.lease === 'over'
  const ours = 'attempt' in command && processing && state.attempt === command.attempt
  /** Said again after it was done, it is still true. */
  const wasOurs = (as: GenerationStatus) =>
    'attempt' in command && state.status === as && state.attempt === command.attempt

  switch (command.do) {
    case 'claim':
      return is(isClaimable(state), { status: 'processing', started: true, lease: 'held' })
    case 'heartbeat':
      return is(ours, { lease: 'held' })
    case 'succeed':
      return wasOurs('succeeded') ? [state, true] : is(ours, ended('succeeded'))
    case 'fail':
      return wasOurs('failed') ? [state, true] : is(ours, ended('failed'))
    case 'requeue': {
      if (!ours) return [state, undefined]
      const tries = state.tries + (command.countTry ? 1 : 0)
      const attempt = state.attempt + 1
      return [{ ...state, status: 'queued', lease: 'none', delayed: command.delayed, tries, attempt }, attempt]
    }
    case 'requeueLost': {
      if (!lost || state.deaths + 1 >= MAX_DEATHS) return [state, undefined]
      const attempt = state.attempt + 1
      return [{ ...state, status: 'queued', lease: 'none', delayed: false, deaths: state.deaths + 1, attempt }, attempt]
    }
    case 'failLost':
      return is(lost && state.deaths + 1 >= MAX_DEATHS, ended('failed'))
    case 'failExpired':
      return is(isActive(state) && state.pastDeadline, ended('failed'))
    case 'cancel':
      return is(state.status === 'queued' || (processing && !command.onlyQueued), ended('failed'))
    case 'lose the worker':
      return [is(processing, { lease: 'over' })[0], undefined]
    case 'pass the deadline':
      return [is(isActive(state), { pastDeadline: true })[0], undefined]
    case 'leave one death':
      return [is(processing, { deaths: Math.max(state.deaths, MAX_DEATHS - 1) })[0], undefined]
    case 'end the delay':
      return [is(state.status === 'queued', { delayed: false })[0], undefined]
  }
}

const ended = (status: 'succeeded' | 'failed'): Partial<State> => ({ status, lease: 'none' })

/** One change of a row's status or attempt, as `status attempt`. */
export type Transition = readonly [from: string, to: string]

export const show = ({ status, attempt }: Pick<State, 'status' | 'attempt'>): string => `${status} ${attempt}`

/** Every legal one: the only ways from one status to another, and when the attempt is raised. */
export function isLegal([from, to]: Transition): boolean {
  const [before, attempt] = from.split(' ')
  const [after, attemptThen] = to.split(' ')
  const raised = Number(attemptThen) - Number(attempt)
  switch (`${before} → ${after}`) {
    case 'queued → processing':
    case 'processing → succeeded':
    case 'processing → failed':
    case 'queued → failed':
      return raised === 0
    case 'processing → queued':
      return raised === 1
    default:
      return false
  }
}
