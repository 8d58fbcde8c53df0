import { beforeAll, describe, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { prepareForMachines } from './generation-machine.js'
import { runCrowds, runStories } from './generation-runs.js'

const context = useDatabase()
beforeAll(() => prepareForMachines(context.db))

const [ONE_BY_ONE, AT_ONCE] = [seedOf(131), seedOf(132)]
const numRuns = 60 * effort
const LONG = { timeout: 300_000 * effort }

describe('the states of a generation, in many random runs', () => {
  it(`are in Postgres as the model says after each step (seed ${ONE_BY_ONE})`, LONG, async () => {
    await runStories(context.db, { seed: ONE_BY_ONE, numRuns })
  })

  it(`are after calls at once as if one call had come after the other (seed ${AT_ONCE})`, LONG, async () => {
    await runCrowds(context.db, { seed: AT_ONCE, numRuns })
  })
})
