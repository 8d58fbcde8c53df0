import type { SessionStore } from './session.js'

export interface DeleteAccountPorts {
  readonly accounts: {
    /** Marks it as deleted and keeps what it has. Resolves to the time of the first deletion. */
    delete(id: string): Promise<Date | undefined>
  }
  readonly sessions: Pick<SessionStore, 'endAll'>
  readonly endpoints: {
    endAllOf(accountId: string): Promise<void>
  }
}

/**
 * Deletes an account and keeps what it made: from then on nothing new can be charged. `cancelAll` must follow, for what
 * is active. Every step can be repeated.
 */
export async function deleteAccount({ accounts, sessions, endpoints }: DeleteAccountPorts, id: string) {
  const deletedAt = await accounts.delete(id)
  await sessions.endAll(id)
  await endpoints.endAllOf(id)
  return deletedAt
}

export interface CancelAllPorts {
  readonly generations: {
    activeOf(accountId: string): Promise<string[]>
  }
  /** Cancels a generation, with a refund. False: it has ended. */
  readonly cancel: (generationId: string) => Promise<boolean>
}

/** Cancels the active generations of an account. Resolves to their IDs. */
export async function cancelAll({ generations, cancel }: CancelAllPorts, id: string): Promise<string[]> {
  const canceled: string[] = []
  for (const generationId of await generations.activeOf(id)) if (await cancel(generationId)) canceled.push(generationId)
  return canceled
}
