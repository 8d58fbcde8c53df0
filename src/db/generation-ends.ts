import type { GenerationEnds } from '../generation/run/lease.js'
import { listenTo } from './notices.js'

/** Whoever ends a generation notifies in the same transaction. */
export function generationEnds(
  databaseUrl: string,
  onError: (error: Error) => void,
): GenerationEnds & { close(): Promise<void> } {
  const watched = new Map<string, () => void>()
  const listener = listenTo(databaseUrl, 'generation_finished', (id) => watched.get(id)?.(), onError)
  return {
    watch(id, onEnd) {
      watched.set(id, onEnd)
      return () => {
        if (watched.get(id) === onEnd) watched.delete(id)
      }
    },
    close: () => listener.close(),
  }
}
