import type { Page, PageRequest } from '../../lib/page.js'
import { AppError } from '../errors.js'
import type { Acting } from './acting.js'

/** A prompt that moderation refused, as the operator sees it. */
export interface LoggedRefusal {
  readonly id: number
  readonly at: Date
  readonly username: string
  /** The request's field: `prompt` or `negative_prompt`. */
  readonly parameter: string
  readonly category: string
  readonly matched: readonly string[]
  readonly prompt: string
  /** When an operator said that the refusal was wrong, and who. */
  readonly wrongAt: Date | null
  readonly wrongBy: string | null
}

/** An account with several refusals about minors. */
export interface RepeatedRefusals {
  readonly username: string
  /** Of those that are kept, at least two. */
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
}

interface RefusalFilter {
  readonly category?: string | undefined
  readonly accountId?: string | undefined
}

export interface RefusedPromptLog {
  /** Newest first. */
  list(filter: RefusalFilter, page: PageRequest): Promise<Page<LoggedRefusal>>
  /** Of the latest refusals, in order. */
  categories(): Promise<string[]>
  /**
   * The accounts, not deleted, with more than one refusal of the last 30 days in a category named after minors that was not
   * marked as wrong: most refusals first, at most `limit`.
   */
  repeated(limit: number): Promise<RepeatedRefusals[]>
  /** A repeat keeps the first time and name. Resolves to whose prompt it was; undefined: there is no such refusal. */
  markWrong(id: number, by: string): Promise<{ readonly username: string; readonly isNew: boolean } | undefined>
}

/** Says that a refusal was wrong; a repeat keeps who said it first. @throws not_found */
export async function markWrong(
  acting: Acting<{ readonly refusedPromptLog: RefusedPromptLog }>,
  id: number,
): Promise<void> {
  const marked = await acting.recorded(
    ({ refusedPromptLog }) => refusedPromptLog.markWrong(id, acting.by.actor),
    (it) => (it?.isNew ? [`marked refused prompt ${id} as wrong`, it.username] : undefined),
  )
  if (!marked)
    throw new AppError('not_found', `No refused prompt has the ID ${id}.`, {
      parameter: 'refusal_id',
    })
}
