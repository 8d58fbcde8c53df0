import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { prepareForMachines } from './generation-machine.js'
import { isLegal, next, SUBMITTED, show } from './generation-model.js'
import { runCrowds, runStories } from './generation-runs.js'
import { commandsAt } from './generation-steps.js'

const context = useDatabase()
beforeAll(() => prepareForMachines(context.db))

const [ONE_BY_ONE, AT_ONCE] = [seedOf(31), seedOf(32)]
const numRuns = 8 * effort

describe('the states of a generation', () => {
  it('have only five transitions between them', () => {
    const known = new Map([[JSON.stringify(SUBMITTED), SUBMITTED]])
    const ways = new Set<string>()
    for (const state of known.values()) {
      if (state.attempt > 4) continue
      for (const command of commandsAt(state.attempt)) {
        const [after] = next(state, command)
        known.set(JSON.stringify(after), after)
        if (show(after) === show(state)) continue
        expect(isLegal([show(state), show(after)]), `${show(state)} → ${show(after)} by ${command.do}`).toBe(true)
        ways.add(`${state.status} → ${after.status}`)
      }
    }
    expect([...ways].sort()).toEqual([
      'processing → failed',
      'processing → queued',
      'processing → succeeded',
      'queued → failed',
      'queued → processing',
    ])
  })

  it(`are in Postgres as the model says after each step, in any order of steps (seed ${ONE_BY_ONE})`, async () => {
    await runStories(context.db, { seed: ONE_BY_ONE, numRuns })
  })

  it(`are after calls at once as if one call had come after the other (seed ${AT_ONCE})`, async () => {
    await runCrowds(context.db, { seed: AT_ONCE, numRuns })
  })
})
