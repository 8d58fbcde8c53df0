/** Users who were told that a generation of theirs is active while none was: a leftover lock, seen from outside. */
import type pg from 'pg'
import type { Exchange } from './history.js'

interface Span {
  readonly from: number
  readonly to: number
}

/** Refused submits in the order of their answers; undefined marks one that was not refused. */
type Submits = ReadonlyMap<string, readonly (Span | undefined)[]>

export function watchRefusals() {
  const submits = new Map<string, (Span | undefined)[]>()
  return {
    submits: submits as Submits,
    note: ({ user, asked, got, at, until }: Exchange) => {
      if (asked.what !== 'submit' || typeof got === 'string') return
      const refused = got.status === 429 ? { from: at, to: until } : undefined
      const known = submits.get(user)
      if (!known) submits.set(user, [refused])
      else if (refused || known.at(-1)) known.push(refused)
    },
  }
}

/**
 * For how long users were locked out with nothing active, in milliseconds: from the first such refusal that no other
 * answer interrupts to the last one's answer.
 */
export async function blockedTimes(client: pg.Client, submits: Submits): Promise<number[]> {
  const { rows } = await client.query<{ user: string; from: number; to: number | null }>(
    `SELECT u.username AS user, extract(epoch FROM min(at) FILTER (WHERE was IS NULL)) * 1000 AS from,
            extract(epoch FROM min(at) FILTER (WHERE is_now IN ('succeeded', 'failed'))) * 1000 AS to
       FROM chaos_events e JOIN users u ON u.id = e.user_id WHERE NOT e.metered GROUP BY generation_id, u.username`,
  )
  const active = new Map<string, Span[]>()
  for (const { user, from, to } of rows) {
    const span = { from: Number(from), to: to === null ? Number.POSITIVE_INFINITY : Number(to) }
    const known = active.get(user)
    if (known) known.push(span)
    else active.set(user, [span])
  }
  return [...submits].flatMap(([user, its]) => spells(its, active.get(user) ?? []))
}

/** Exported for its test. */
export function spells(submits: readonly (Span | undefined)[], active: readonly Span[]): number[] {
  const times: number[] = []
  let since: number | undefined
  let last = 0
  const end = () => {
    if (since !== undefined) times.push(last - since)
    since = undefined
  }
  for (const refused of submits) {
    if (refused && !active.some(({ from, to }) => from <= refused.to && to >= refused.from)) {
      since ??= refused.from
      last = refused.to
    } else end()
  }
  end()
  return times
}
