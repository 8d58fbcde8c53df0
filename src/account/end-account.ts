import type { Administration } from './administration.js'
import type { SessionStore } from './session.js'

interface EndAccountPorts extends Pick<Administration, 'endpoints'> {
  readonly accounts: Pick<Administration['accounts'], 'delete'>
  readonly generations: Pick<Administration['generations'], 'activeOf'>
  readonly sessions: Pick<SessionStore, 'endAll'>
  /** Cancels a generation, with a refund. False: it has ended. */
  readonly cancel: (generationId: string) => Promise<boolean>
}

/**
 * Deletes an account and keeps what it made. The account first, so that nothing new can be charged, then its sessions,
 * webhooks and active generations. Every step can be repeated.
 */
export async function endAccount({ accounts, sessions, endpoints, generations, cancel }: EndAccountPorts, id: string) {
  const deletedAt = await accounts.delete(id)
  await sessions.endAll(id)
  await endpoints.endAllOf(id)
  const canceled: string[] = []
  for (const generationId of await generations.activeOf(id)) if (await cancel(generationId)) canceled.push(generationId)
  return { deletedAt, canceled }
}
