/** Up next: what an account has lined up. The server submits one idea after the other, whenever nothing of it is active. */
import { type Caller, requireAllowedModel } from '../accounts/account.js'
import { AppError, ideaGone } from '../errors.js'
import type { Submission } from '../generations/submit/ports.js'
import { type AskedRequest, requestFor } from '../generations/submit/requested.js'

/** The body of a submit, as the Personal Access API takes it, and with its names. */
export type IdeaBody = Readonly<Record<string, unknown>>

export interface Idea {
  readonly id: string
  readonly body: IdeaBody
  /** Why its submit was refused, as one sentence; null: it was not. */
  readonly refusal: string | null
}

/** By whom: the person, or a refusal of the first idea. */
export type Paused = 'by_person' | 'by_refusal'

export interface UpNext {
  /** The next one first. */
  readonly ideas: readonly Idea[]
  /** Null: it goes on. */
  readonly paused: Paused | null
}

export const MAX_IDEAS = 50

/** An account's own ideas; another account's are never found. */
export interface UpNextStore {
  of(accountId: string): Promise<UpNext>
  /** Behind the others. Resolves to its ID. */
  add(accountId: string, body: IdeaBody): Promise<string | 'too_many'>
  find(accountId: string, id: string): Promise<Idea | undefined>
  /** At the same place, under another ID, so that what it was before is not submitted any more. False: it is gone. */
  replace(accountId: string, id: string, body: IdeaBody): Promise<boolean>
  /** Changes places with the one before or behind it, if there is one. */
  move(accountId: string, id: string, to: 'up' | 'down'): Promise<void>
  /** False: it was submitted or removed before. */
  remove(accountId: string, id: string): Promise<boolean>
  clear(accountId: string): Promise<void>
  /** Nothing is submitted from now on. */
  pause(accountId: string): Promise<void>
  /** Also tries again what was refused. */
  goOn(accountId: string): Promise<void>
}

/** What is lined up: the body, and what it asks for. */
export interface AskedIdea extends AskedRequest, Pick<Submission, 'model'> {
  readonly body: IdeaBody
}

/**
 * Lines an idea up; `replaced`: instead of that one, at its place. Nothing is charged. What its model does not take is
 * refused at once; all else when it is submitted.
 * @throws invalid_request; not_found or model_unavailable
 */
export async function lineUp(
  store: Pick<UpNextStore, 'add' | 'replace'>,
  caller: Caller,
  { body, model: find, ...asked }: AskedIdea,
  replaced?: string,
): Promise<void> {
  const { id: accountId } = caller.account
  const model = await find()
  requireAllowedModel(caller, model.id, { named: `${model.modelName} ${model.name}`, parameter: 'model_version_id' })
  requestFor(model, asked)
  if (replaced !== undefined) {
    if (!(await store.replace(accountId, replaced, body))) throw ideaGone()
  } else if ((await store.add(accountId, body)) === 'too_many')
    throw new AppError('invalid_request', `Up next holds ${MAX_IDEAS} ideas, the most there may be: remove one first.`)
}

/** Whether the next idea is submitted as soon as nothing is active. */
export const goesOn = ({ ideas, paused }: UpNext): boolean => ideas.length > 0 && paused === null
