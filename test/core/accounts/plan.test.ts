import { describe, expect, it } from 'vitest'
import { periodAt, periodStart } from '../../../src/core/accounts/period.js'
import { currentPeriodOf, type PeriodState, type Plan, settlePeriods } from '../../../src/core/accounts/plan.js'

const PRO: Plan = {
  name: 'Pro',
  credits: 100,
  period: 'month',
  carryOver: 0,
  signUpCredits: 0,
  models: null,
  rateLimit: null,
  retainPromptsDays: null,
  retainImagesDays: null,
  forSale: false,
  retiredAt: null,
  price: null,
}
const at = (text: string) => new Date(text.length === 10 ? `${text}T00:00:00.000Z` : text)
const dayOf = (date: Date) => date.toISOString().slice(0, 10)

describe('the periods of a subscription', () => {
  it.each([
    ['2027-01-31', 'month', ['2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30', '2027-05-31']],
    ['2028-01-31', 'month', ['2028-01-31', '2028-02-29', '2028-03-31']],
    ['2027-12-30', 'month', ['2027-12-30', '2028-01-30', '2028-02-29', '2028-03-30']],
    ['2028-02-29', 'year', ['2028-02-29', '2029-02-28', '2030-02-28', '2031-02-28', '2032-02-29']],
  ] as const)(
    'that begins on %s, by %s, begin on the same day, or the last one of a shorter month',
    (day, period, starts) => {
      expect(starts.map((_, n) => dayOf(periodStart(at(day), period, n)))).toEqual(starts)
    },
  )

  it('begin at the same time of day in UTC, also where a clock was put forward', () => {
    const startedAt = at('2027-02-28T23:30:15.250Z')
    expect([1, 2].map((n) => periodStart(startedAt, 'month', n).toISOString())).toEqual([
      '2027-03-28T23:30:15.250Z',
      '2027-04-28T23:30:15.250Z',
    ])
  })

  it('follow each other without a gap, and each moment falls into the one that has begun last', () => {
    for (const period of ['month', 'year'] as const)
      for (const day of ['2027-01-01', '2027-01-29', '2027-01-31T22:10:00.000Z', '2028-02-29']) {
        const startedAt = at(day)
        for (let n = 0; n < 40; n++) {
          const [start, end] = [periodStart(startedAt, period, n), periodStart(startedAt, period, n + 1)]
          for (const moment of [start, new Date((start.getTime() + end.getTime()) / 2), new Date(end.getTime() - 1)])
            expect(periodAt(startedAt, period, moment)).toEqual({ start, end })
        }
        expect(periodAt(startedAt, period, at('2020-01-01')).start).toEqual(startedAt)
      }
  })
})

/** Settles at each of the moments, as the reconciler does, and says what the ledger got. */
function story(steps: readonly (readonly [moment: string, change?: Partial<Settings>])[]) {
  const ledger: string[] = []
  const made = new Set<string>()
  let settings: Settings = {
    plan: PRO,
    status: 'active',
    endDate: at('2040-01-01'),
    paidUntil: null,
    spent: 0,
    startedAt: at(steps[0]?.[0] as string),
  }
  let period: PeriodState['period'] = null
  let granted: PeriodState['granted'] = {}
  let expiring = 0
  const plans = new Map<string, Plan>()
  for (const [moment, change] of steps) {
    settings = { ...settings, spent: 0, ...change }
    const { plan, status, endDate, startedAt, paidUntil, spent } = settings
    plans.set(plan.name, plan)
    expiring = Math.max(0, expiring - spent)
    const before = period ? plans.get(period.plan) : undefined
    const settled = settlePeriods(
      { status, endDate, startedAt, paidUntil, period, granted },
      { plan, before },
      expiring,
      at(moment),
    )
    for (const { kind, credits, expires, ref, note } of settled.entries) {
      if (made.has(ref)) continue
      made.add(ref)
      if (kind === 'expire') expiring -= credits
      else if (expires) expiring += credits
      ledger.push(`${kind === 'expire' ? '-' : '+'}${credits} ${note}`)
    }
    period = settled.period
    granted = settled.granted
    settings = { ...settings, startedAt: settled.startedAt }
  }
  return ledger
}

interface Settings {
  readonly plan: Plan
  readonly status: string
  readonly endDate: Date
  readonly startedAt: Date
  readonly paidUntil: Date | null
  /** Of what expires, since the step before. */
  readonly spent: number
}

const plus: Plan = { ...PRO, name: 'Plus', credits: 250 }

describe('a subscription gets', () => {
  it.each<[string, Parameters<typeof story>[0], string[]]>([
    [
      'its first period at once, and the next one at its start, once',
      [['2027-01-31'], ['2027-02-01'], ['2027-02-27T23:59:59.999Z'], ['2027-02-28'], ['2027-02-28']],
      [
        '+100 Pro, 2027-01-31 to 2027-02-28',
        '-100 Pro, left of 2027-01-31 to 2027-02-28',
        '+100 Pro, 2027-02-28 to 2027-03-31',
      ],
    ],
    [
      'less taken at the end of a period by what it has spent',
      [['2027-01-01'], ['2027-02-01', { spent: 70 }]],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '-30 Pro, left of 2027-01-01 to 2027-02-01',
        '+100 Pro, 2027-02-01 to 2027-03-01',
      ],
    ],
    [
      'nothing taken where the plan lets it keep what is left',
      [['2027-01-01', { plan: { ...PRO, carryOver: null } }], ['2027-02-01'], ['2027-03-01']],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '+100 Pro, 2027-02-01 to 2027-03-01',
        '+100 Pro, 2027-03-01 to 2027-04-01',
      ],
    ],
    [
      'to keep as much as the plan says at most, of all periods together',
      [['2027-01-01', { plan: { ...PRO, carryOver: 150 } }], ['2027-02-01'], ['2027-03-01']],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '+100 Pro, 2027-02-01 to 2027-03-01',
        '-50 Pro, left of 2027-02-01 to 2027-03-01',
        '+100 Pro, 2027-03-01 to 2027-04-01',
      ],
    ],
    [
      'after a service was down for months each period that it missed, as if it had been up',
      [['2027-01-31'], ['2027-04-30']],
      [
        '+100 Pro, 2027-01-31 to 2027-02-28',
        '-100 Pro, left of 2027-01-31 to 2027-02-28',
        '+100 Pro, 2027-02-28 to 2027-03-31',
        '-100 Pro, left of 2027-02-28 to 2027-03-31',
        '+100 Pro, 2027-03-31 to 2027-04-30',
        '-100 Pro, left of 2027-03-31 to 2027-04-30',
        '+100 Pro, 2027-04-30 to 2027-05-31',
      ],
    ],
    [
      'only the running period when it is looked at for the first time',
      [['2027-08-10', { startedAt: at('2027-01-31') }]],
      ['+100 Pro, 2027-07-31 to 2027-08-31'],
    ],
    [
      'credits at sign-up once, which never expire',
      [['2027-01-01', { plan: { ...PRO, signUpCredits: 20 } }], ['2027-02-01']],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '+20 Pro, at sign-up',
        '-100 Pro, left of 2027-01-01 to 2027-02-01',
        '+100 Pro, 2027-02-01 to 2027-03-01',
      ],
    ],
    [
      'the difference at once with a larger plan, nothing with a smaller one, and no difference twice',
      [
        ['2027-01-01'],
        ['2027-01-05', { plan: plus }],
        ['2027-01-06', { plan: PRO }],
        ['2027-01-07', { plan: plus }],
        ['2027-02-01'],
      ],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '+150 Plus, 2027-01-01 to 2027-02-01',
        '-250 Plus, left of 2027-01-01 to 2027-02-01',
        '+250 Plus, 2027-02-01 to 2027-03-01',
      ],
    ],
    [
      'a new period with a plan of another kind of period',
      [['2027-01-01'], ['2027-01-10', { plan: { ...plus, period: 'year' } }], ['2027-12-31'], ['2028-01-10']],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '+150 Plus, 2027-01-10 to 2028-01-10',
        '-250 Plus, left of 2027-01-10 to 2028-01-10',
        '+250 Plus, 2028-01-10 to 2029-01-10',
      ],
    ],
    [
      'nothing for going back and forth between plans that keep credits, by month and by year',
      [
        ['2027-01-01', { plan: { ...PRO, carryOver: null } }],
        ['2027-01-10', { plan: { ...plus, period: 'year', carryOver: null } }],
        ['2027-01-11', { plan: { ...PRO, carryOver: null } }],
        ['2027-01-12', { plan: { ...plus, period: 'year', carryOver: null } }],
        ['2027-01-13', { plan: { ...PRO, carryOver: null } }],
        ['2027-02-01'],
        ['2027-03-01'],
      ],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '+150 Plus, 2027-01-10 to 2028-01-10',
        '+50 Pro, 2027-03-01 to 2027-04-01',
      ],
    ],
    [
      'another kind of period only once it is active',
      [
        ['2027-01-01'],
        ['2027-01-10', { plan: { ...plus, period: 'year' }, status: 'paused' }],
        ['2027-01-20', { status: 'active' }],
      ],
      ['+100 Pro, 2027-01-01 to 2027-02-01', '+150 Plus, 2027-01-20 to 2028-01-20'],
    ],
    [
      'each period once it is paid, though it is active before',
      [
        ['2027-01-31', { paidUntil: at('2027-02-28') }],
        ['2027-02-28'],
        ['2027-03-02', { paidUntil: at('2027-03-31') }],
        ['2027-03-31', { paidUntil: at('2027-04-30') }],
      ],
      [
        '+100 Pro, 2027-01-31 to 2027-02-28',
        '-100 Pro, left of 2027-01-31 to 2027-02-28',
        '+100 Pro, 2027-02-28 to 2027-03-31',
        '-100 Pro, left of 2027-02-28 to 2027-03-31',
        '+100 Pro, 2027-03-31 to 2027-04-30',
      ],
    ],
    [
      'nothing before a trial ends that grants from its end on, and no period that was not paid',
      [
        ['2027-01-01', { startedAt: at('2027-01-15'), paidUntil: at('2027-01-15') }],
        ['2027-01-15'],
        ['2027-02-20'],
        ['2027-02-21', { paidUntil: at('2027-03-15') }],
      ],
      ['+100 Pro, 2027-02-15 to 2027-03-15'],
    ],
    [
      'the difference of a paid plan by year once the year is paid, in the periods of the provider',
      [
        ['2027-01-31', { paidUntil: at('2027-02-28') }],
        ['2027-02-10', { plan: { ...plus, period: 'year' }, startedAt: at('2027-02-10'), paidUntil: at('2027-02-10') }],
        ['2027-02-11'],
        ['2027-02-12', { paidUntil: at('2028-02-10') }],
        ['2028-02-10', { paidUntil: at('2029-02-10') }],
      ],
      [
        '+100 Pro, 2027-01-31 to 2027-02-28',
        '+150 Plus, 2027-02-10 to 2028-02-10',
        '-250 Plus, left of 2027-02-10 to 2028-02-10',
        '+250 Plus, 2028-02-10 to 2029-02-10',
      ],
    ],
    [
      'no period that begins while it is paused, and the running one when it goes on',
      [
        ['2027-01-01'],
        ['2027-01-20', { status: 'paused' }],
        ['2027-02-01'],
        ['2027-03-01'],
        ['2027-03-05', { status: 'active' }],
        ['2027-04-01'],
      ],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '-100 Pro, left of 2027-01-01 to 2027-02-01',
        '+100 Pro, 2027-03-01 to 2027-04-01',
        '-100 Pro, left of 2027-03-01 to 2027-04-01',
        '+100 Pro, 2027-04-01 to 2027-05-01',
      ],
    ],
    [
      'no second grant of a period in which it was paused and went on',
      [['2027-01-01'], ['2027-01-10', { status: 'past_due' }], ['2027-01-12', { status: 'active' }]],
      ['+100 Pro, 2027-01-01 to 2027-02-01'],
    ],
    [
      'nothing after its end, and periods counted anew when it begins again',
      [
        ['2027-01-01', { endDate: at('2027-01-31T23:59:59.999Z') }],
        ['2027-02-01'],
        ['2027-03-01'],
        ['2027-03-09', { endDate: at('2028-03-09'), startedAt: at('2027-03-09') }],
        ['2027-04-01'],
        ['2027-04-09'],
      ],
      [
        '+100 Pro, 2027-01-01 to 2027-02-01',
        '-100 Pro, left of 2027-01-01 to 2027-02-01',
        '+100 Pro, 2027-03-09 to 2027-04-09',
        '-100 Pro, left of 2027-03-09 to 2027-04-09',
        '+100 Pro, 2027-04-09 to 2027-05-09',
      ],
    ],
    [
      'nothing if it has ended before it is looked at',
      [['2027-01-15', { startedAt: at('2027-01-01'), endDate: at('2027-01-10') }]],
      [],
    ],
    ['nothing from a plan that grants nothing', [['2027-01-01', { plan: { ...PRO, credits: 0 } }], ['2027-02-01']], []],
  ])('%s', (_what, steps, ledger) => {
    expect(story(steps)).toEqual(ledger)
  })
})

it('a subscription that has ended and has nothing left to expire is not looked at again', () => {
  const state = {
    status: 'active',
    endDate: at('2027-01-10'),
    startedAt: at('2027-01-01'),
    paidUntil: null,
    period: null,
    granted: {},
  }
  expect(settlePeriods(state, { plan: PRO, before: undefined }, 0, at('2027-01-15')).checkAt).toBeNull()
  expect(settlePeriods(state, { plan: PRO, before: undefined }, 5, at('2027-01-15')).checkAt).toEqual(at('2027-02-01'))
})

describe('how an account stands with its plan', () => {
  const FEBRUARY = { start: at('2027-02-01'), end: at('2027-03-01'), plan: 'Pro', credits: 100 }
  const active = {
    status: 'active',
    endDate: at('2028-01-01'),
    startedAt: at('2027-01-01'),
    paidUntil: null,
    period: FEBRUARY,
    granted: {},
  }
  const current = (more: Partial<PeriodState>, plan: Plan, before = plan, now = at('2027-02-14')) =>
    currentPeriodOf({ ...active, ...more }, { plan, before }, 80, now)

  it.each([
    ['all of its credits expire', {}, PRO, PRO, 80, 100],
    ['what exceeds what stays', {}, { ...PRO, carryOver: 30 }, undefined, 50, 100],
    ['nothing while all of it may stay', {}, { ...PRO, carryOver: 90 }, undefined, 0, 100],
    ['nothing by a plan that keeps', {}, { ...PRO, carryOver: null }, undefined, 0, 100],
    ['nothing follows where the subscription is over by then', { endDate: at('2027-02-20') }, PRO, PRO, 80, 0],
    ['nothing follows while it is not active', { status: 'past_due' }, PRO, PRO, 80, 0],
    ['what another plan gives', {}, { ...PRO, name: 'Max', credits: 500, carryOver: null }, PRO, 80, 500],
    ['what the next period of a paid plan gives, once it is paid', { paidUntil: FEBRUARY.end }, PRO, PRO, 80, 100],
    ['credits at sign-up come once', {}, { ...PRO, signUpCredits: 7 }, PRO, 80, 100],
  ] as const)('%s', (_what, state, plan, before, expires, follows) => {
    expect(current(state, plan, before)).toEqual({ period: FEBRUARY, plan: before ?? plan, expires, follows })
  })

  it('is nothing that can be told before its first period, and after the end of its last one', () => {
    expect(current({ period: null }, PRO)).toBeUndefined()
    expect(current({}, PRO, PRO, FEBRUARY.end)).toBeUndefined()
  })
})

it('what the release before granted in a period since it was kept counts, too', () => {
  const [start, end] = [at('2027-03-01'), at('2027-04-01')]
  const largest = { ...PRO, name: 'Largest', credits: 300 }
  const { entries } = settlePeriods(
    {
      ...{ status: 'active', endDate: at('2040-01-01'), startedAt: start, paidUntil: null },
      // It was 100, and then that of a plan of 200.
      period: { start, end, plan: 'Larger', credits: 200 },
      granted: { month: { startedAt: start, start, end, credits: 100, left: 0 } },
    },
    { plan: largest, before: { ...PRO, name: 'Larger', credits: 200 } },
    200,
    at('2027-03-10'),
  )
  expect(entries.map(({ kind, credits }) => [kind, credits])).toEqual([['grant', 100]])
})
