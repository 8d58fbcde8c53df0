import { dueWork } from '../../lib/due-work.js'
import type { Caller } from '../accounts/account.js'
import { AppError, type ErrorCode } from '../errors.js'
import type { Submission, SubmitPorts } from '../generations/submit/ports.js'
import { submitGeneration } from '../generations/submit/submit.js'
import type { Log } from '../log.js'
import type { Idea, IdeaBody } from './up-next.js'

/** An account's ideas, claimed to submit the first one. `version` is that of the claim: after a later change it is void. */
export interface ClaimedUpNext {
  readonly accountId: string
  readonly version: number
  /** Undefined: there is none. */
  readonly idea: (Pick<Idea, 'id' | 'body'> & { readonly isNew: boolean }) | undefined
}

/** Whose next idea is due; Postgres is the truth about it. A claim that is void changes nothing. */
export interface UpNextQueue {
  /** Claims, for some seconds, what has been due for longest: neither paused nor claimed by anybody else. */
  claim(leaseSeconds: number): Promise<ClaimedUpNext | undefined>
  /** Not due again for so long, or for good where there is no idea left; sooner when a generation of the account ends. */
  later(claimed: ClaimedUpNext, seconds: number): Promise<void>
  /** Pauses it and keeps the sentence with its first idea. If that idea is gone, it is due at once instead. */
  refused(claimed: ClaimedUpNext, sentence: string): Promise<void>
  /** Removes all ideas of an account that cannot submit any more. */
  forget(accountId: string): Promise<void>
}

export interface UpNextPorts {
  readonly queue: UpNextQueue
  readonly submits: SubmitPorts
  /** By the account's website key; undefined: the account was deleted, or nobody has ever signed in to it. */
  readonly websiteCaller: (accountId: string) => Promise<Caller | undefined>
  /** What the body asks for. @throws invalid_request: it was lined up with other limits */
  readonly submissionOf: (body: IdeaBody) => Omit<Submission, 'lane' | 'idempotency'>
  readonly log: Log
}

/** Of one server. */
const AT_ONCE = 8
/** Longer than a submit may take: one that takes longer still cannot draw its idea twice, it only looks in vain. */
const LEASE_SECONDS = 30
/** Notices can be lost, and processes die: a regular poll finds what they leave. */
const POLL_MS = 2000
/** The end of what is active makes it due; this is for what nobody thought of. */
const ACTIVE_SECONDS = 300
const RETRY_SECONDS = 5

/** What may pass by itself. Another idea would meet the same, so they all wait. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['active_generation', 'rate_limited', 'timeout', 'unavailable', 'internal'] as const),
  // The account was deleted meanwhile: the next look finds that out.
  'unauthorized',
])

/**
 * Submits the next idea of each account when nothing of it is active, in any number of servers. An idea is deleted in the
 * transaction that stores its generation: so each is drawn and charged once at most, and none is lost.
 */
export function upNextLoop({ queue, submits, websiteCaller, submissionOf, log }: UpNextPorts) {
  let timer: NodeJS.Timeout | undefined

  const submit = async (claimed: ClaimedUpNext): Promise<void> => {
    const { accountId, idea } = claimed
    if (!idea) return queue.later(claimed, 0)
    const caller = await websiteCaller(accountId)
    if (!caller) return queue.forget(accountId)
    // Looked for before moderation is asked.
    // The end of that one may have looked for a list before there was one, so that nobody is told of it.
    if (await submits.submissions.activeGeneration(accountId))
      return queue.later(claimed, idea.isNew ? RETRY_SECONDS : ACTIVE_SECONDS)
    try {
      const asked = { lane: 'personal', idempotency: undefined, ideaId: idea.id } as const
      const { id: generationId } = await submitGeneration(submits, caller, { ...submissionOf(idea.body), ...asked })
      log.info({ generationId }, 'idea of Up next submitted')
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (!PASSING.has(error.code)) return queue.refused(claimed, sentenceOf(error))
      const { generationId, retryAfterSeconds = RETRY_SECONDS } = error.detail
      return queue.later(claimed, generationId === undefined ? retryAfterSeconds : ACTIVE_SECONDS)
    }
    await queue.later(claimed, ACTIVE_SECONDS)
  }

  const due = dueWork({
    claim: () => queue.claim(LEASE_SECONDS),
    // It is due again when the claim ends.
    work: (claimed) => submit(claimed).catch((err) => log.warn({ err }, 'an idea of Up next is submitted later')),
    mayBegin: (inFlight) => inFlight < AT_ONCE,
    onClaimFault: (err) => log.warn({ err }, 'what is up next could not be claimed'),
  })

  return {
    /** Claims what is due and begins to submit it; does not wait for that. Never rejects. */
    submitDue: due.wake,

    /** Polls from now on. */
    start(): void {
      timer = setInterval(() => void due.wake(), POLL_MS)
      void due.wake()
    },

    /** Begins nothing more, and resolves when what was begun has ended. */
    async stop(): Promise<void> {
      clearInterval(timer)
      await due.stop(new AbortController(), 0)
    },
  }
}

/** What the person reads beside the idea. */
function sentenceOf({ code, message, detail }: AppError): string {
  const isGone = code === 'not_found' || (code === 'model_unavailable' && detail.plan === undefined)
  return isGone ? 'Its model is not on offer any more. Edit it to choose another one, or remove it.' : message
}
