import { sql } from 'drizzle-orm'
import type { QueuePositions } from '../../core/generations/follow/poll.js'
import type { Lane } from '../../core/generations/generation.js'
import { queuePosition } from '../../core/generations/queue-order.js'
import { snapshot } from '../../lib/snapshot.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { queueTurn } from '../schema/process.js'
import { statement } from '../statement.js'

const POSITIONS_FRESH_MS = 400

// Each lane's waiting seqs, sorted, as eight big-endian bytes each: a hundred thousand are 800 kB and need no parsing.
const waitingIn = (lane: Lane) => sql`
  (SELECT coalesce(string_agg(int8send(${g.seq}), ''::bytea ORDER BY ${g.seq}), '') FROM ${g}
    WHERE ${g.status} = 'queued' AND ${g.lane} = ${lane})`

const SNAPSHOT = statement<{ streak: number | null } & Readonly<Record<Lane, Buffer>>>('queue_snapshot')`
  SELECT (SELECT ${queueTurn.createImageStreak} FROM ${queueTurn}) AS streak,
         ${waitingIn('personal')} AS personal, ${waitingIn('create_image')} AS create_image`

/**
 * Positions in the queue, from one snapshot per process, at most half a second old and taken only while there are polls
 * of queued generations. A poll is a binary search, in a queue of any length.
 */
export function queuePositions({ pool }: Database): QueuePositions {
  const take = async () => {
    const { streak, ...lanes } = (await SNAPSHOT.first(pool)) ?? { streak: 0, personal: EMPTY, create_image: EMPTY }
    const waiting = { personal: lanes.personal.length / 8, create_image: lanes.create_image.length / 8 }
    return { lanes, depths: { streak: streak ?? 0, waiting } }
  }
  const current = snapshot(take, { freshMs: POSITIONS_FRESH_MS })

  return {
    async of({ lane, seq }) {
      const { lanes, depths } = await current()
      // A generation that was submitted after the snapshot comes after all in it.
      return queuePosition(lane, countBelow(lanes[lane], seq) + 1, depths)
    },
  }
}

const EMPTY = Buffer.alloc(0)

/** How many of the sorted seqs are smaller. They stay below 2^48, so the low six bytes of each are enough. */
function countBelow(seqs: Buffer, seq: number): number {
  let low = 0
  let high = seqs.length / 8
  while (low < high) {
    const middle = (low + high) >>> 1
    if (seqs.readUIntBE(middle * 8 + 2, 6) < seq) low = middle + 1
    else high = middle
  }
  return low
}
