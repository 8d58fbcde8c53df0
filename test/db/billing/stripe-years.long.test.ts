import fc from 'fast-check'
import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { expectGrantedAsPaid, stripeYears } from './stripe-years.js'

const context = useDatabase()
const SEED = seedOf(5210)

it(`whatever happens at Stripe for years, and becomes of its events, what is paid is granted [seed ${SEED}]`, async () => {
  await fc.assert(
    fc.asyncProperty(stripeYears(20), (it) => expectGrantedAsPaid(context.db, it)),
    { seed: SEED, numRuns: 6 * effort, endOnFailure: true },
  )
  expect.hasAssertions()
}, 600_000)
