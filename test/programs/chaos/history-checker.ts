import { fieldsOf, misshapen } from './answer-shapes.js'
import type { Answered, Asked, Exchange, Outcome, Violation } from './history.js'
import { streamFaults } from './stream-checker.js'

/** What the answers so far have promised about one generation. */
interface Promised {
  readonly user: string
  readonly batch: number
  readonly seed: number
  readonly createdAt: string
  readonly cost: number
  /** The request that stored it was under way from `sentAt` to `acknowledgedAt`. */
  readonly sentAt: number
  readonly acknowledgedAt: number
  /** When the last poll that found it unfinished was sent: until then it was active for certain. */
  activeUntil: number
  ended: { readonly as: string; readonly details: string; readonly seenAt: number } | undefined
}

/** In everything that a visitor of the website writes. */
export const VISITORS_MARK = /visitor\d+mark/g

export interface HistoryChecker {
  add(exchange: Exchange): void
  finish(outcome: Outcome): void
  readonly violations: readonly Violation[]
  /** How many answers of which kind, like `submit 201` or `poll broken`. */
  readonly counts: ReadonlyMap<string, number>
  /** Every 500 that was no failed generation; each is worth a look. */
  readonly internalErrors: readonly string[]
}

/**
 * Judges a run by what its clients saw, as a fold over their exchanges, so that a long run needs little memory.
 * @param excused whether something that the exchange needs was out of order meanwhile
 * @param secret what no error may say: prompts and keys
 */
export function historyChecker(excused: (exchange: Exchange) => boolean, secret: RegExp): HistoryChecker {
  const violations: Violation[] = []
  const counts = new Map<string, number>()
  const internalErrors: string[] = []
  const promised = new Map<string, Promised>()
  const byKey = new Map<string, string>()
  /** When a key was sent first: from then on its generation may have been stored. */
  const firstSent = new Map<string, number>()
  const images = new Map<string, string>()
  const accuse = (invariant: string, what: string) => void violations.push({ invariant, what })
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)

  function add(exchange: Exchange): void {
    const { asked, got, user, server } = exchange
    count(`${asked.what} ${typeof got === 'string' ? got : got.status}`)
    const key = asked.what === 'submit' && asked.key !== undefined ? `${user} ${asked.key}` : undefined
    if (key !== undefined && !firstSent.has(key)) firstSent.set(key, exchange.at)
    if (got === 'hung up') return
    if (typeof got === 'string') {
      if (!excused(exchange))
        accuse('I13', `${asked.what} of ${user} to ${server} was never answered (${got}) ${when(exchange)}`)
      return
    }
    const wrong = misshapen(exchange, got)
    if (wrong) accuse('I13', `${asked.what} of ${user} got ${got.status}: ${wrong} (request ${got.requestId})`)
    if (got.status >= 400 && secret.test(JSON.stringify(got.body) ?? ''))
      accuse('I16', `an error of ${asked.what} says a prompt or a key (request ${got.requestId})`)
    if (got.status >= 500) {
      failed(exchange, got)
      return
    }
    if (asked.what === 'probe' && got.status !== asked.status)
      accuse('I13', `probe "${asked.name}" got ${got.status} instead of ${asked.status} (request ${got.requestId})`)
    if (asked.what === 'act' && !asked.statuses.includes(got.status))
      accuse(
        'admin',
        `${asked.name} got ${got.status} instead of ${asked.statuses}: ${JSON.stringify(got.body)} (request ${got.requestId})`,
      )
    if (asked.what === 'page') visited(exchange, asked, got)
    if (asked.what === 'submit' || asked.what === 'create') limited(exchange, asked, got)
    if (asked.what === 'submit' && got.status === 201) submitted(exchange, asked, got)
    if (asked.what === 'poll' || asked.what === 'cancel') polled(exchange, asked, got)
    if (asked.what === 'events') followed(exchange, asked, got)
    if (asked.what === 'image') fetched(exchange, asked, got)
    if (asked.what === 'account' && !(Number(fieldsOf(got.body).credits) >= 0))
      accuse('I2', `${user} holds ${fieldsOf(got.body).credits} credits`)
  }

  function limited({ user }: Exchange, asked: Asked & { what: 'submit' | 'create' }, got: Answered): void {
    const { limit, isForbidden = false } = asked
    const request = `of ${user} (request ${got.requestId})`
    if (isForbidden && got.status < 300)
      accuse('limit', `a model that its key may not use was drawn for a submit ${request}`)
    if (limit === undefined || got.status !== 402) return
    const said = JSON.stringify(got.body)
    if (!said.includes(`may spend ${limit} credits a month`))
      accuse('limit', `a 402 does not name the limit: ${said} ${request}`)
  }

  function visited(
    exchange: Exchange,
    { name, statuses, inFaults, mark }: Asked & { what: 'page' },
    got: Answered,
  ): void {
    const { user } = exchange
    if (!statuses.includes(got.status) && !(inFaults?.includes(got.status) && excused(exchange)))
      accuse('page', `${name} of ${user} got ${got.status} instead of ${statuses} (request ${got.requestId})`)
    const others = got.page?.text.match(VISITORS_MARK)?.filter((found) => found !== mark) ?? []
    if (others.length > 0) accuse('page', `${name} of ${user} showed ${others[0]} (request ${got.requestId})`)
  }

  function failed(exchange: Exchange, got: Answered): void {
    const { asked, user, server } = exchange
    const code = fieldsOf(fieldsOf(got.body).error).code
    if (asked.what === 'create' && (code === 'generation_failed' || code === 'timeout')) return
    if (got.status === 500)
      internalErrors.push(`${asked.what} of ${user} to ${server}, request ${got.requestId} ${when(exchange)}`)
    if (!excused(exchange))
      accuse(
        'I13',
        `${asked.what} of ${user} to ${server} got ${got.status} with nothing out of order, request ${got.requestId} ${when(exchange)}`,
      )
  }

  function submitted(exchange: Exchange, asked: Asked & { what: 'submit' }, got: Answered): void {
    const { user, at, until } = exchange
    const { id: anId, seed, created_at: createdAt, credits_charged: cost } = fieldsOf(got.body)
    const id = String(anId)
    const first = asked.key === undefined ? undefined : byKey.get(`${user} ${asked.key}`)
    if (first !== undefined && first !== id)
      accuse('I4', `Idempotency-Key ${asked.key} of ${user} got ${first} and ${id}`)
    if (asked.key !== undefined) byKey.set(`${user} ${asked.key}`, id)
    const before = promised.get(id)
    if (!before) {
      promised.set(id, {
        ...{ user, batch: asked.batch, seed: Number(seed), createdAt: String(createdAt), cost: Number(cost) },
        ...{
          sentAt: firstSent.get(`${user} ${asked.key}`) ?? at,
          acknowledgedAt: until,
          activeUntil: until,
          ended: undefined,
        },
      })
    } else if (first !== id) accuse('I4', `${id} was given as new twice`)
    else if (before.seed !== seed || before.createdAt !== createdAt || before.cost !== cost)
      accuse(
        'I11',
        `${id} changed: ${before.seed} ${before.createdAt} ${before.cost}, then ${seed} ${createdAt} ${cost}`,
      )
  }

  function polled(
    { at, until, user }: Exchange,
    { what, id }: Asked & { what: 'poll' | 'cancel' },
    got: Answered,
  ): void {
    const known = promised.get(id)
    if (got.status === 404) {
      if (known) accuse('I7', `${id} of ${user} was acknowledged and is not found`)
      return
    }
    if (!known || got.status !== 200) return
    const body = fieldsOf(got.body)
    const status = String(body.status)
    const { images, seed } = fieldsOf(body.output)
    const details = JSON.stringify(status === 'succeeded' ? images : body.error)
    if (status === 'queued' || status === 'processing') {
      if (what === 'cancel') accuse('I11', `${id} of ${user} was canceled and is ${status}`)
      if (known.ended && at >= known.ended.seenAt) accuse('I11', `${id} had ${known.ended.as} and was ${status} later`)
      known.activeUntil = Math.max(known.activeUntil, at)
      return
    }
    if (known.ended && (known.ended.as !== status || known.ended.details !== details))
      accuse('I11', `${id} ended as ${known.ended.as} ${known.ended.details} and as ${status} ${details}`)
    known.ended ??= { as: status, details, seenAt: until }
    if (status === 'succeeded' && seed !== known.seed)
      accuse('I11', `${id} has the seed ${seed} instead of ${known.seed}`)
    if (status === 'succeeded' && (!Array.isArray(images) || images.length !== known.batch))
      accuse('I10', `${id} shows ${Array.isArray(images) ? images.length : 'no'} images instead of ${known.batch}`)
  }

  /** What it says of the generation is judged like polls that were sent when it was opened. */
  function followed(exchange: Exchange, { id }: Asked & { what: 'events' }, got: Answered): void {
    const { events } = got
    if (!events) return
    for (const fault of streamFaults(id, events)) accuse('stream', `${fault} (${id}, request ${got.requestId})`)
    if (events.length === 0 && !excused(exchange)) accuse('stream', `${id} was told nothing of ${when(exchange)}`)
    for (const { event, data } of events)
      if (event === 'status' || event === 'end') polled(exchange, { what: 'poll', id }, { ...got, body: data })
  }

  function fetched(exchange: Exchange, asked: Asked & { what: 'image' }, { status, image }: Answered): void {
    const { url, sizes } = asked
    if (status !== 200) {
      if (!excused(exchange)) accuse('I10', `${url} got ${status} ${when(exchange)}`)
      return
    }
    if (!image || image.width !== image.height || !sizes.includes(image.width)) {
      accuse('I10', `${url} is not a whole square PNG of ${sizes.join(' or ')} pixels`)
      return
    }
    const before = images.get(url)
    if (before !== undefined && before !== image.sha256) accuse('I10', `${url} has changed its bytes`)
    images.set(url, image.sha256)
  }

  /** Two generations of one user that were active at the same moment for certain. */
  function overlaps(): void {
    const ofUser = new Map<string, [string, Promised][]>()
    for (const entry of promised) {
      const others = ofUser.get(entry[1].user)
      if (others) others.push(entry)
      else ofUser.set(entry[1].user, [entry])
    }
    for (const [user, generations] of ofUser) {
      generations.sort(([, a], [, b]) => a.acknowledgedAt - b.acknowledgedAt)
      let last: [string, Promised] | undefined
      for (const generation of generations) {
        const [id, { sentAt, acknowledgedAt, activeUntil }] = generation
        if (last) {
          const both = Math.min(last[1].activeUntil, activeUntil) > acknowledgedAt
          const storedAmid = last[1].acknowledgedAt <= sentAt && acknowledgedAt <= last[1].activeUntil
          if (both || storedAmid) accuse('I6', `${user} had ${last[0]} and ${id} active at once`)
        }
        if (!last || activeUntil > last[1].activeUntil) last = generation
      }
    }
  }

  return {
    add,
    violations,
    counts,
    internalErrors,
    finish({ generations, credits, nextSubmit }) {
      overlaps()
      for (const [id, { user, cost, ended }] of promised) {
        const row = generations.get(id)
        if (!row) accuse('I7', `${id} of ${user} was acknowledged and is not stored`)
        else if (ended && row.status !== ended.as) accuse('I11', `${id} was seen as ${ended.as} and is ${row.status}`)
        else if (row.cost !== cost || row.user !== user) accuse('I11', `${id} is not what was acknowledged`)
      }
      const spent = new Map<string, number>()
      for (const [id, { user, status, cost, metered }] of generations) {
        if (status !== 'succeeded' && status !== 'failed') accuse('I8', `${id} of ${user} is still ${status}`)
        if (status !== 'failed' && !metered) spent.set(user, (spent.get(user) ?? 0) + cost)
      }
      for (const [user, { granted, left }] of credits) {
        const expected = granted - (spent.get(user) ?? 0)
        if (left !== expected) accuse('I3', `${user} holds ${left} credits instead of ${expected}`)
      }
      for (const [user, status] of nextSubmit)
        if (status !== 201) accuse('I9', `${user} has no active generation, and the next submit got ${status}`)
    },
  }
}

const when = ({ at, until }: Exchange): string => `at ${new Date(at).toISOString()} for ${until - at} ms`
