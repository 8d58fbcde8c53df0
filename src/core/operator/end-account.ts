import type { SessionStore } from '../accounts/session.js'
import type { Administration } from './administration.js'

interface EndAccountPorts extends Pick<Administration, 'endpoints'> {
  readonly accounts: Pick<Administration['accounts'], 'delete'>
  readonly sessions: Pick<SessionStore, 'endAll'>
}

/**
 * Deletes an account and keeps what it made: from then on nothing new can be charged. `cancelAll` must follow, for what
 * is active. Every step can be repeated.
 */
export async function endAccount({ accounts, sessions, endpoints }: EndAccountPorts, id: string) {
  const deletedAt = await accounts.delete(id)
  await sessions.endAll(id)
  await endpoints.endAllOf(id)
  return deletedAt
}

interface CancelAllPorts {
  readonly generations: Pick<Administration['generations'], 'activeOf'>
  /** Cancels a generation, with a refund. False: it has ended. */
  readonly cancel: (generationId: string) => Promise<boolean>
}

/** Cancels the active generations of an account. Resolves to their IDs. */
export async function cancelAll({ generations, cancel }: CancelAllPorts, id: string): Promise<string[]> {
  const canceled: string[] = []
  for (const generationId of await generations.activeOf(id)) if (await cancel(generationId)) canceled.push(generationId)
  return canceled
}
