import { describe, expect, it } from 'vitest'
import {
  decidingSubscription,
  nextLookAtPayment,
  nextLookAtSubscription,
  type PlannedSubscription,
  takenBackOf,
  termsOf,
} from '../../../src/core/billing/effects.js'
import type { PaidSubscription } from '../../../src/core/billing/payment-provider.js'

const at = (day: string) => new Date(`${day}${day.length === 10 ? 'T00:00:00.000Z' : ''}`)
const SUBSCRIPTION: PaidSubscription = {
  id: 'sub_1',
  customer: { id: 'cus_1', email: null, accountId: null },
  price: 'price_1',
  status: 'active',
  startedAt: at('2027-01-10'),
  paidUntil: at('2027-03-10'),
  endsAt: null,
}
const PLANNED: PlannedSubscription = { ...SUBSCRIPTION, plan: 'Pro' }

describe('a paid subscription', () => {
  it.each<[string, Partial<PaidSubscription>, number, string, string, string]>([
    ['that renews may be used for the days of grace, too', {}, 3, 'active', '2027-03-10', '2027-03-13'],
    ['without grace ends with what is paid', {}, 0, 'active', '2027-03-10', '2027-03-10'],
    ['that is past due keeps its grace', { status: 'past_due' }, 3, 'active', '2027-03-10', '2027-03-13'],
    [
      'that waits for a bank may be used as long as it may take',
      { status: 'pending' },
      3,
      'active',
      '2027-03-10',
      '2027-03-31',
    ],
    [
      'that waits for a bank and is to be canceled ends then',
      { status: 'pending', endsAt: at('2027-03-20') },
      3,
      'active',
      '2027-03-10',
      '2027-03-20',
    ],
    [
      'to be canceled long after what is paid goes on like one that renews',
      { endsAt: at('2027-09-10') },
      3,
      'active',
      '2027-03-10',
      '2027-03-13',
    ],
    [
      'that is past due keeps its grace, and not what it was to have until it is canceled',
      { status: 'past_due', endsAt: at('2027-09-10') },
      3,
      'active',
      '2027-03-10',
      '2027-03-13',
    ],
    ['that was given up ends with what is paid', { status: 'unpaid' }, 3, 'active', '2027-03-10', '2027-03-10'],
    ['that is paused ends with what is paid', { status: 'paused' }, 3, 'active', '2027-03-10', '2027-03-10'],
    [
      'that is paused is so then',
      { status: 'paused', paidUntil: at('2027-01-31') },
      3,
      'paused',
      '2027-01-31',
      '2027-01-31',
    ],
    ['to be canceled at its end ends then', { endsAt: at('2027-03-10') }, 3, 'active', '2027-03-10', '2027-03-10'],
    ['to be canceled within a period ends then', { endsAt: at('2027-02-20') }, 3, 'active', '2027-02-20', '2027-02-20'],
    [
      'that is past due and to be canceled later may be used until then',
      { status: 'past_due', endsAt: at('2027-03-12') },
      3,
      'active',
      '2027-03-10',
      '2027-03-12',
    ],
    [
      'that was canceled at once has ended then',
      { status: 'ended', endsAt: at('2027-02-01') },
      3,
      'active',
      '2027-02-01',
      '2027-02-01',
    ],
    [
      'that ended after it was not paid has ended with what is paid',
      { status: 'ended', endsAt: at('2027-04-01') },
      3,
      'active',
      '2027-03-10',
      '2027-03-10',
    ],
  ])('%s', (_what, more, graceDays, status, paidUntil, endDate) => {
    expect(termsOf({ ...SUBSCRIPTION, ...more }, graceDays, at('2027-02-01'))).toEqual({
      ...{ status, startedAt: SUBSCRIPTION.startedAt, paidUntil: at(paidUntil), endDate: at(endDate) },
    })
  })
})

describe('of several paid subscriptions', () => {
  const decide = (...all: Partial<PlannedSubscription>[]) =>
    decidingSubscription(
      all.map((more, n) => ({ ...PLANNED, id: `sub_${n}`, plan: `Plan ${n}`, ...more })),
      3,
      at('2027-02-01'),
    )

  it.each<[string, Partial<PlannedSubscription>[], object | undefined]>([
    ['none counts that was never paid', [{ status: 'unpaid', paidUntil: PLANNED.startedAt }], undefined],
    [
      'one on trial counts that begins to be counted later',
      [{ startedAt: at('2027-02-10'), paidUntil: at('2027-02-10') }],
      { plan: 'Plan 0', isLive: true },
    ],
    [
      'the one counts that lasts longest, and the others are told of',
      [{}, { paidUntil: at('2027-05-10') }, { paidUntil: at('2027-04-10') }],
      { plan: 'Plan 1', superfluous: ['sub_2', 'sub_0'] },
    ],
    [
      'one that may be used counts before a paused one',
      [{ status: 'paused', paidUntil: at('2027-01-31') }, {}],
      { plan: 'Plan 1', status: 'active', superfluous: [] },
    ],
    [
      'a paused one counts before one that has ended',
      [
        { status: 'ended', endsAt: at('2027-01-20') },
        { status: 'paused', paidUntil: at('2027-01-31') },
      ],
      { plan: 'Plan 1', status: 'paused', isLive: false },
    ],
    [
      'the one counts that ended last',
      [
        { status: 'ended', endsAt: at('2027-01-20') },
        { status: 'ended', endsAt: at('2027-01-30') },
      ],
      { plan: 'Plan 1', isLive: false, endDate: at('2027-01-30') },
    ],
    ['the same one counts of two alike', [{}, {}], { plan: 'Plan 0', superfluous: ['sub_1'] }],
  ])('%s', (_what, all, decided) => {
    if (decided)
      for (const order of [all, all.toReversed()]) expect(decide(...order)?.isLive).toBe(decide(...all)?.isLive)
    if (decided) expect(decide(...all)).toMatchObject(decided)
    else expect(decide(...all)).toBeUndefined()
  })
})

describe('credits of a payment', () => {
  it.each<[string, number, number, number, boolean, number]>([
    ['stay where nothing went back', 500, 1000, 0, true, 0],
    ['all go back with all the money', 500, 1000, 1000, true, 500],
    ['go back in proportion', 500, 1000, 250, true, 125],
    ['go back rounded up', 500, 1000, 1, true, 1],
    ['go back rounded up from just above a whole number', 3, 100, 67, true, 3],
    ['all go back where the money never came', 500, 1000, 0, false, 500],
    ['stay where nothing was to be paid', 500, 0, 0, true, 0],
    ['never go back twice over', 500, 1000, 2000, true, 500],
    ['are counted exactly where they are many', 9_007_199_254_740_991, 3, 1, true, 3_002_399_751_580_331],
  ])('%s', (_what, credits, amount, returned, isPaid, expected) => {
    expect(takenBackOf(credits, { amount, returned, isPaid })).toBe(expected)
  })
})

describe('the provider is asked again, though no event came', () => {
  it.each<[string, Partial<PaidSubscription>, string, string | null]>([
    ['daily', {}, '2027-02-01', '2027-02-02'],
    ['soon after a period', {}, '2027-03-09T12:00:00.000Z', '2027-03-10T02:00:00.000Z'],
    ['when it is to end', { endsAt: at('2027-03-10') }, '2027-03-09T12:00:00.000Z', '2027-03-10'],
    ['daily while it is not paid', { status: 'unpaid' }, '2027-04-01', '2027-04-02'],
    ['no more once it has ended', { status: 'ended' }, '2027-04-01', null],
  ])('about a subscription %s', (_what, more, now, next) => {
    expect(nextLookAtSubscription({ ...SUBSCRIPTION, ...more }, at(now))).toEqual(next && at(next))
  })

  const PAID_AT = '2027-01-01'
  it.each<[string, boolean, boolean, string, string | null]>([
    ['weekly', true, false, '2027-01-02', '2027-01-09'],
    ['daily while the money is not there', false, false, '2027-01-02', '2027-01-03'],
    ['no more when it never came', false, false, '2027-02-05', null],
    ['hourly while credits are missing that are to be taken back', true, true, PAID_AT, '2027-01-01T01:00:00.000Z'],
    ['weekly when these do not come', true, true, '2027-01-10', '2027-01-17'],
    ['no more when it is old', true, false, '2027-07-01', null],
  ])('about a payment %s', (_what, isPaid, hasWaiting, now, next) => {
    const payment = { isPaid, paidAt: isPaid ? at(PAID_AT) : null }
    expect(nextLookAtPayment(payment, { firstHeard: at(PAID_AT), hasWaiting }, at(now))).toEqual(next && at(next))
  })
})
