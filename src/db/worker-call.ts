import type { Database } from './client.js'
import { listenTo } from './notices.js'

const CHANNEL = 'generation_waiting'

/**
 * How a worker that was rung for something it can't do tells all the others: the delivery is used up, and whoever can
 * serve must not wait until it looks by itself.
 */
export function workerCall(
  { pool }: Database,
  databaseUrl: string,
  onCall: () => void,
  onError: (error: Error) => void,
): { callOthers(): Promise<void>; close(): Promise<void> } {
  const listener = listenTo(databaseUrl, CHANNEL, onCall, onError)
  return {
    async callOthers() {
      await pool.query({ name: 'call_workers', text: `SELECT pg_notify('${CHANNEL}', '')` }).catch(onError)
    },
    close: () => listener.close(),
  }
}
