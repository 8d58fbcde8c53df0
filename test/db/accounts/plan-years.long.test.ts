import fc from 'fast-check'
import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { expectGrantedAsPaidFor, years } from './plan-years.js'

const context = useDatabase()
const SEED = seedOf(520)

it(`whatever operators do to subscriptions and plans for years, each month and year is granted once [seed ${SEED}]`, async () => {
  await fc.assert(
    fc.asyncProperty(years(80), (it) => expectGrantedAsPaidFor(context.db, it)),
    { seed: SEED, numRuns: 40 * effort, endOnFailure: true },
  )
  expect.hasAssertions()
}, 600_000)
