import { EventEmitter, once } from 'node:events'

const KEPT = 10_000

export interface Journal<Entry> {
  /** Oldest first; the oldest go when there are 10,000. */
  readonly entries: readonly Entry[]
  readonly add: (entry: Entry) => void
  /** Resolves with the next entry (or one already made) that matches. */
  readonly seen: (matches: (entry: Entry) => boolean) => Promise<Entry>
}

/** What has happened, for those who wait until something has. */
export function createJournal<Entry>(): Journal<Entry> {
  const entries: Entry[] = []
  const events = new EventEmitter().setMaxListeners(0)
  return {
    entries,
    add(entry) {
      entries.push(entry)
      if (entries.length > KEPT) entries.shift()
      events.emit('added')
    },
    async seen(matches) {
      for (;;) {
        const entry = entries.find(matches)
        if (entry) return entry
        await once(events, 'added')
      }
    },
  }
}
