/** What may be done to the generations of a machine, at random. */
import fc from 'fast-check'
import { type Step, USERS, WORKERS } from './generation-machine.js'
import type { Command } from './generation-model.js'

const user = fc.nat(USERS - 1)
const worker = fc.nat(WORKERS - 1)
/** The latest claims are most likely still somebody's; older ones were lost to others. */
const back = fc.constantFrom(0, 0, 0, 1, 1, 2, 3)
const flag = fc.boolean()
const doing = <D extends string>(...what: D[]) => fc.constantFrom(...what)

const submit = fc.record({ do: doing('submit'), user })
const claim = fc.record({ do: doing('claim'), worker })
const write = fc.record({ do: doing('heartbeat', 'succeed', 'fail'), back })
const requeue = fc.record({ do: doing('requeue'), back, countTry: flag, delayed: flag })
const lose = fc.record({ do: doing('lose the worker'), user })
const force = fc.record({ do: doing('end the delay', 'pass the deadline', 'leave one death'), user })
const reconcile = fc.record({ do: doing('requeueLost', 'failLost', 'failExpired') })
const cancel = fc.record({ do: doing('cancel'), user, onlyQueued: flag })

/** A worker that crashes, and what follows: by chance alone these steps would rarely meet. */
const crash = fc
  .record({ worker, user, last: flag, reconcile })
  .map((drawn): Step[] => [
    { do: 'claim', worker: drawn.worker },
    ...(drawn.last ? [{ do: 'leave one death' as const, user: drawn.user }] : []),
    { do: 'lose the worker', user: drawn.user },
    drawn.reconcile,
  ])

/** A worker that is taken for dead, and writes when another one already has the generation. */
const takeover = fc
  .record({ worker, user, write: fc.oneof(write, requeue) })
  .map(({ worker: by, user: whose, write: late }): Step[] => [
    { do: 'claim', worker: by },
    { do: 'lose the worker', user: whose },
    { do: 'requeueLost' },
    { do: 'claim', worker: (by + 1) % WORKERS },
    { ...late, back: 1 },
  ])

/** One step after the other. */
export const story: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: submit.map((it): Step[] => [it]) },
      { weight: 8, arbitrary: claim.map((it): Step[] => [it]) },
      { weight: 5, arbitrary: write.map((it): Step[] => [it]) },
      { weight: 4, arbitrary: requeue.map((it): Step[] => [it]) },
      { weight: 3, arbitrary: lose.map((it): Step[] => [it]) },
      { weight: 3, arbitrary: force.map((it): Step[] => [it]) },
      { weight: 4, arbitrary: reconcile.map((it): Step[] => [it]) },
      { weight: 1, arbitrary: cancel.map((it): Step[] => [it]) },
      { weight: 3, arbitrary: crash },
      { weight: 2, arbitrary: takeover },
    ),
    { minLength: 8, maxLength: 30 },
  )
  .map((parts) => [...SUBMITS, ...parts.flat()])

const SUBMITS: readonly Step[] = Array.from({ length: USERS }, (_, which) => ({ do: 'submit', user: which }))
const CLAIMS: readonly Step[] = Array.from({ length: USERS }, (_, which) => ({ do: 'claim', worker: which }))
const LOSSES: readonly Step[] = Array.from({ length: USERS }, (_, which) => ({ do: 'lose the worker', user: which }))

/** Nothing; both queued; one or both running; both lost, one for the last time; one taken over from a lost worker. */
const BEFORE: readonly (readonly Step[])[] = [
  [],
  SUBMITS,
  [...SUBMITS, ...CLAIMS.slice(1)],
  [...SUBMITS, ...CLAIMS],
  [...SUBMITS, ...CLAIMS, ...LOSSES],
  [...SUBMITS, ...CLAIMS, { do: 'leave one death', user: 0 }, ...LOSSES],
  [...SUBMITS, ...CLAIMS, ...LOSSES.slice(1), { do: 'requeueLost' }, ...CLAIMS.slice(1)],
]

export interface Crowd {
  /** One step after the other, so that there is something to fight for. */
  readonly before: readonly Step[]
  /** All at once. */
  readonly steps: readonly Step[]
  /** All of them first run into the same locked rows. */
  readonly gated: boolean
}

const fight: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: submit },
  { weight: 5, arbitrary: claim },
  { weight: 8, arbitrary: write },
  { weight: 4, arbitrary: requeue },
  { weight: 1, arbitrary: lose },
  { weight: 1, arbitrary: force },
  { weight: 6, arbitrary: reconcile },
  { weight: 2, arbitrary: cancel },
)

export const crowds: fc.Arbitrary<Crowd[]> = fc.array(
  fc
    .record({
      before: fc.constantFrom(...BEFORE),
      steps: fc.array(fight, { minLength: 2, maxLength: 5 }),
      twice: flag,
      gated: flag,
    })
    // Perhaps everybody says everything twice.
    .map(({ steps, twice, ...rest }) => ({
      ...rest,
      steps: twice ? steps.flatMap((it) => [it, it]).slice(0, 6) : steps,
    })),
  { minLength: 3, maxLength: 6 },
)

/** All that can be said to a generation at this attempt, by those who hold it and by those who held it before. */
export function commandsAt(attempt: number): Command[] {
  const attempts = Array.from({ length: attempt }, (_, i) => i + 1)
  const flags = [true, false]
  return [
    { do: 'claim' },
    ...(['lose the worker', 'pass the deadline', 'end the delay', 'leave one death'] as const).map((it) => ({
      do: it,
    })),
    ...(['requeueLost', 'failLost', 'failExpired'] as const).map((it) => ({ do: it })),
    ...flags.map((onlyQueued) => ({ do: 'cancel' as const, onlyQueued })),
    ...attempts.flatMap((its) => (['heartbeat', 'succeed', 'fail'] as const).map((it) => ({ do: it, attempt: its }))),
    ...attempts.flatMap((its) =>
      flags.flatMap((countTry) =>
        flags.map((delayed) => ({ do: 'requeue' as const, attempt: its, countTry, delayed })),
      ),
    ),
  ]
}
