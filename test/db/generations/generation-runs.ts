/** Random runs of a machine, held against the model: a few in the short tier, many in the long one. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Database } from '../../../src/db/client.js'
import {
  type Call,
  follow,
  givenMachine,
  type Machine,
  type Row,
  type Seen,
  type Step,
  type Told,
  USERS,
} from './generation-machine.js'
import { isActive, isLegal, type State, SUBMITTED, show, type Transition } from './generation-model.js'
import { crowds, story } from './generation-steps.js'

const CREDITS = 100

interface Runs {
  readonly seed: number
  readonly numRuns: number
}

/** Takes steps one after the other; after each, Postgres must show what the model says. */
export async function runStories(db: Database, runs: Runs): Promise<void> {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const machine = await givenMachine(db, CREDITS)
      let rows: readonly Row[] = []
      const expected = new Map<string, Transition[]>()
      for (const step of steps) {
        const before = new Map(rows.map(({ id, state }) => [id, show(state)]))
        rows = await take(machine, step, rows)
        const seen = await seeSound(machine)
        expect(seen.map(({ id, state }) => [id, state])).toEqual(rows.map(({ id, state }) => [id, state]))
        for (const { id, state } of rows) {
          const was = before.get(id) ?? show(SUBMITTED)
          if (was !== show(state)) expected.set(id, [...(expected.get(id) ?? []), [was, show(state)]])
        }
      }
      expect(await machine.transitions()).toEqual(expected)
    }),
    runs,
  )
}

/** Takes steps at once; some order of them must explain what Postgres shows and what each caller was told. */
export async function runCrowds(db: Database, runs: Runs): Promise<void> {
  await fc.assert(
    fc.asyncProperty(crowds, async (drawn) => {
      const machine = await givenMachine(db, CREDITS)
      let rows: readonly Row[] = []
      for (const { before, steps, gated } of drawn) {
        for (const step of before) rows = await take(machine, step, rows)
        const calls = steps.flatMap((step) => machine.bind(step, rows) ?? [])
        const tolds = await machine.together(calls, gated)
        const seen = await seeSound(machine)
        for (let of = 0; of < USERS; of++) expectSomeOrder(calls, tolds, rows, seen, of)
        rows = seen
      }
      const made = await machine.transitions()
      expect([...made.values()].flat().filter((each) => !isLegal(each))).toEqual([])
      for (const { id, state } of rows) expectChain(made.get(id) ?? [], state)
    }),
    runs,
  )
}

/** Takes one step, which must be answered as the model says; resolves to the rows after it. */
async function take(machine: Machine, step: Step, rows: readonly Row[]): Promise<readonly Row[]> {
  const call = machine.bind(step, rows)
  if (!call) return rows
  const told = await call.make()
  const places = new Map(rows.map(({ id }, place) => [id, place]))
  const after = follow(rows, call, told, (id) => places.get(id) ?? -1, false)
  if (after) return after
  return expect.fail(`${JSON.stringify(step)} was answered ${JSON.stringify([...told])} at ${JSON.stringify(rows)}`)
}

/** What Postgres shows, after a look at what must hold at every moment. */
async function seeSound(machine: Machine): Promise<readonly Seen[]> {
  const { rows, balances } = await machine.see()
  for (const { state, cost, batchSize, ledger, images } of rows) {
    const charge = ['charge', -cost]
    expect(ledger).toEqual(state.status === 'failed' ? [charge, ['refund', cost]] : [charge])
    expect(images).toBe(state.status === 'succeeded' ? batchSize : 0)
    expect(state.lease === 'none').toBe(state.status !== 'processing')
  }
  for (const [which, balance] of balances.entries()) {
    const own = rows.filter(({ user }) => user === which)
    const kept = own.filter(({ state }) => state.status !== 'failed').reduce((sum, { cost }) => sum + cost, 0)
    expect(balance).toEqual({ credits: CREDITS - kept, moved: CREDITS - kept })
    expect(own.filter(({ state }) => isActive(state)).length).toBeLessThanOrEqual(1)
  }
  return rows
}

/** Some order of the calls, one after the other, gives a user's rows as they are, and the answers that were given. */
function expectSomeOrder(
  calls: readonly Call[],
  tolds: readonly Told[],
  before: readonly Row[],
  seen: readonly Seen[],
  of: number,
): void {
  const known = new Map(seen.map((row) => [row.id, row]))
  const isOwn = (id: string) => known.get(id)?.user === of
  const seqOf = (id: string) => known.get(id)?.seq ?? Number.POSITIVE_INFINITY
  const own = (rows: readonly Row[]) => rows.filter(({ user }) => user === of)
  const goal = statesOf(own(seen))
  const search = (rows: readonly Row[], left: readonly number[]): boolean => {
    if (left.length === 0) return statesOf(rows) === goal
    return left.some((i) => {
      const [call, told] = [calls[i] as Call, tolds[i] as Told]
      // What an answer names must be there by then, unless it is what the call has made.
      const named = call.step.do === 'submit' ? [] : [...told.keys()].filter(isOwn)
      if (!named.every((id) => rows.some((row) => row.id === id))) return false
      const after = follow(rows, call, told, seqOf, true)
      if (!after) return false
      const others = left.filter((other) => other !== i)
      return search(after, others)
    })
  }
  const concerned = calls.flatMap(({ step, target }, i) => {
    const anothers = step.do === 'submit' ? step.user !== of : target !== undefined && !isOwn(target)
    return anothers ? [] : [i]
  })
  if (search(own(before), concerned)) return
  const told = concerned.map((i) => [calls[i]?.step, [...(tolds[i] ?? [])]])
  expect.fail(`no order explains this: ${JSON.stringify({ before: own(before), told, seen: own(seen) }, null, 1)}`)
}

const statesOf = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map(({ id, state }) => [id, Object.entries(state).sort()]).sort())

/** What was recorded of a generation leads without a gap from its submit to where it is. */
function expectChain(made: readonly Transition[], state: State): void {
  const places = [show(SUBMITTED), ...made.map(([, to]) => to)]
  expect(made.map(([from]) => from)).toEqual(places.slice(0, -1))
  expect(places.at(-1)).toBe(show(state))
}
