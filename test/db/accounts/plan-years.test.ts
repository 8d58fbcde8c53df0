import fc from 'fast-check'
import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { expectGrantedAsPaidFor, years } from './plan-years.js'

const context = useDatabase()
const SEED = seedOf(52)

it(`whatever operators do to a subscription and its plans in a year, each month and year is granted once [seed ${SEED}]`, async () => {
  await fc.assert(
    fc.asyncProperty(years(30), (it) => expectGrantedAsPaidFor(context.db, it)),
    { seed: SEED, numRuns: 6 * effort, endOnFailure: true },
  )
  expect.hasAssertions()
})
