import fc from 'fast-check'
import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { effort, seedOf } from '../../support/effort.js'
import { expectGrantedAsPaid, type StripeYears, stripeYears } from './stripe-years.js'

const context = useDatabase()
const SEED = seedOf(521)

/** Two debits fail, and the third month is paid: the two before it were not. */
const PAID_AGAIN: StripeYears = {
  ...{ start: '2071-12-15T22:30:00Z', fate: 'z0X}%', first: 1 },
  steps: [
    { act: { type: 'card', card: 'takes_days' }, days: 76 },
    { act: { type: 'card', card: 'works' }, days: 30 },
  ],
}

it(`whatever happens at Stripe in some months, and becomes of its events, what is paid is granted [seed ${SEED}]`, async () => {
  await fc.assert(
    fc.asyncProperty(stripeYears(4), (it) => expectGrantedAsPaid(context.db, it)),
    { seed: SEED, numRuns: 1 + effort, examples: [[PAID_AGAIN]], endOnFailure: true },
  )
  expect.hasAssertions()
})
