/** What the page shows of a generation, read from the ports. */
import type { FastifyRequest } from 'fastify'
import { etaSeconds } from '../../../core/generations/follow/eta.js'
import { holdOf } from '../../../core/generations/follow/hold.js'
import { hasEnded, type Polled, pollGeneration, withState } from '../../../core/generations/follow/poll.js'
import type { PastGeneration } from '../../../core/generations/history.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import type { Active } from './stage.js'
import type { UpNextView } from './up-next.js'

/** The balance as it is now. */
export async function creditsOf({ sessions }: WebsitePorts, request: FastifyRequest): Promise<number> {
  const { caller } = (await sessions.find(request.keyHash)) ?? sessionOf(request)
  return caller.account.credits
}

/** One of the caller's own generations. @throws not_found */
export async function stateOf(
  ports: WebsitePorts,
  { caller: { account } }: FastifyRequest,
  id: string,
  seen?: Polled,
): Promise<Active> {
  const now = seen ?? (await pollGeneration(ports, account, id))
  const [generation, eta, hold] = await Promise.all([
    ports.history.generation(account.id, id),
    etaSeconds(ports.estimates, now),
    now.status === 'queued' ? holdOf(ports.estimates, now.work.filename) : undefined,
  ])
  if (!generation) throw new Error(`the generation ${id} is in no history`)
  const deadline = new Date(generation.createdAt.getTime() + ports.generationDeadlineSeconds * 1000)
  return { generation, now, eta, hold: hold && { hold, deadline } }
}

/** The account's running generation, if there is one. */
export async function activeOf(ports: WebsitePorts, request: FastifyRequest): Promise<Active | undefined> {
  const active = await ports.submissions.activeGeneration(request.caller.account.id)
  const state = active && (await stateOf(ports, request, active.id, await withState(ports, active)))
  return state && !hasEnded(state.now) ? state : undefined
}

/** What is up next. */
export async function upNextOf({ upNext, models }: WebsitePorts, accountId: string): Promise<UpNextView> {
  const [list, onOffer] = await Promise.all([upNext.of(accountId), models.listEnabled()])
  return { ...list, models: onOffer }
}

/** How long the latest results stay in the strip. */
const RECENT_MS = 12 * 60 * 60_000
const RECENT = 12

/** The account's generations that succeeded in the last hours, newest first. */
export async function recentOf({ history }: WebsitePorts, accountId: string): Promise<readonly PastGeneration[]> {
  const filter = { status: 'succeeded', since: new Date(Date.now() - RECENT_MS) } as const
  const { items } = await history.generations(accountId, filter, { limit: RECENT, after: undefined })
  return items.filter(({ images }) => images.length > 0)
}

/** The account's latest generation, whatever became of it. */
export async function latestOf({ history }: WebsitePorts, accountId: string): Promise<PastGeneration | undefined> {
  const { items } = await history.generations(accountId, {}, { limit: 1, after: undefined })
  return items[0]
}

/**
 * What is up next, what is drawn, and what was drawn of late. Read in this order: an idea that begins or ends meanwhile
 * is found in one of them.
 */
export async function stateNow(ports: WebsitePorts, request: FastifyRequest) {
  const { id } = request.caller.account
  const upNext = await upNextOf(ports, id)
  const active = await activeOf(ports, request)
  const [latest, recent, credits] = await Promise.all([
    latestOf(ports, id),
    recentOf(ports, id),
    creditsOf(ports, request),
  ])
  return { upNext, active, latest, recent, credits }
}
