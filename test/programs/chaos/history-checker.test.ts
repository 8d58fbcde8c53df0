import { describe, expect, it } from 'vitest'
import type { Answered, Asked, Exchange, FinalGeneration, Outcome } from './history.js'
import { historyChecker } from './history-checker.js'

const GEN = (n: number) => `gen_${String(n).padStart(26, '0')}`
const SECRET = /quokkaverb|easel_\w{38}/

const answered = (status: number, body: unknown, more: Partial<Answered> = {}): Answered => ({
  ...{ status, body, requestId: 'r', retryAfter: status === 429 ? '1' : undefined },
  ...more,
})

let clock = 0
/** One second after the other unless told otherwise. */
const exchange = (asked: Asked, got: Exchange['got'], more: Partial<Exchange> = {}): Exchange => {
  clock += 1000
  return { user: 'ann', asked, server: 'server-0', at: clock, until: clock + 100, got, ...more }
}

const submitted = (n: number, more: Partial<Exchange> & { key?: string; seed?: number; batch?: number } = {}) => {
  const { key, seed = 7, batch = 1, ...rest } = more
  return exchange(
    { what: 'submit', tag: `t${n}`, batch, ...(key !== undefined && { key }) },
    answered(201, {
      ...{ id: GEN(n), status: 'queued', model_version_id: 10, model_name: 'm', credits_charged: batch, seed },
      ...{ created_at: '2026-01-01T00:00:00.000Z', poll_url: 'http://easel/x' },
    }),
    rest,
  )
}

type PollMore = Partial<Exchange> & { urls?: string[]; seed?: number; what?: 'poll' | 'cancel' }
const polled = (n: number, status: string, more: PollMore = {}) => {
  const { urls = ['http://easel/cdn/a.png'], seed = 7, what = 'poll', ...rest } = more
  const rest4 = {
    queued: { queue_position: 1 },
    processing: {},
    succeeded: { output: { images: urls.map((url) => ({ url, id: url })), seed } },
    failed: { error: 'Sorry.' },
  }[status]
  return exchange({ what, id: GEN(n) }, answered(200, { id: GEN(n), status, ...rest4 }), rest)
}

const fetched = (more: Partial<Answered> = {}) =>
  exchange(
    { what: 'image', url: 'http://easel/cdn/a.png', sizes: [256] },
    answered(200, undefined, { image: { sha256: 'a', width: 256, height: 256 }, ...more }),
  )

const row = (more: Partial<FinalGeneration> = {}): FinalGeneration => ({
  ...{ user: 'ann', status: 'succeeded', cost: 1, metered: false },
  ...more,
})

const outcome = (generations: Record<string, FinalGeneration> = {}, more: Partial<Outcome> = {}): Outcome => ({
  ...{ generations: new Map(Object.entries(generations)), credits: new Map(), nextSubmit: new Map() },
  ...more,
})

/** The invariants that a history breaks. */
function judged(history: readonly Exchange[], end?: Outcome, excused = false): string[] {
  const checker = historyChecker(() => excused, SECRET)
  for (const each of history) checker.add(each)
  if (end) checker.finish(end)
  return checker.violations.map(({ invariant }) => invariant)
}

describe('the checker finds nothing wrong with a history', () => {
  it('in which everything is as it should be', () => {
    const history = [
      submitted(1, { key: 'k' }),
      polled(1, 'queued'),
      polled(1, 'processing'),
      polled(1, 'queued'), // its worker died
      submitted(1, { key: 'k' }),
      polled(1, 'succeeded'),
      fetched(),
      polled(1, 'succeeded'),
      fetched(),
      submitted(2),
      polled(2, 'failed'),
    ]
    const credits = new Map([['ann', { granted: 10, left: 9 }]])
    const end = outcome(
      { [GEN(1)]: row(), [GEN(2)]: row({ status: 'failed' }), [GEN(3)]: row({ user: 'dev', cost: 0, metered: true }) },
      { credits, nextSubmit: new Map([['ann', 201]]) },
    )
    expect(judged(history, end)).toEqual([])
  })

  it('that holds errors while something is out of order', () => {
    const unavailable = answered(503, { error: 'Later.' })
    const history = [exchange({ what: 'poll', id: GEN(1) }, unavailable), exchange({ what: 'account' }, 'broken')]
    expect(judged(history, undefined, true)).toEqual([])
  })

  it('that holds clients that hang up', () => {
    expect(judged([exchange({ what: 'submit', tag: 't', batch: 1 }, 'hung up')])).toEqual([])
  })
})

describe('the checker reports, about money,', () => {
  it('I2: a negative balance', () => {
    const body = { username: 'ann', credits: -1, subscription: null }
    expect(judged([exchange({ what: 'account' }, answered(200, body))])).toEqual(['I2'])
  })

  it('I3: a failed generation that was not given back', () => {
    const credits = new Map([['ann', { granted: 10, left: 9 }]])
    expect(judged([], outcome({ [GEN(1)]: row({ status: 'failed' }) }, { credits }))).toEqual(['I3'])
  })

  it('I3: an image for nothing', () => {
    const credits = new Map([['ann', { granted: 10, left: 10 }]])
    expect(judged([], outcome({ [GEN(1)]: row() }, { credits }))).toEqual(['I3'])
  })

  it('I4: one key, two generations', () => {
    expect(judged([submitted(1, { key: 'k' }), polled(1, 'failed'), submitted(2, { key: 'k' })])).toEqual(['I4'])
  })

  it('I4: one generation given as new to two requests', () => {
    expect(judged([submitted(1), submitted(1)])).toEqual(['I4'])
  })
})

describe('the checker reports, about one active generation at a time,', () => {
  it('I6: a second one stored while polls still show the first one running', () => {
    expect(
      judged([submitted(1), submitted(2), polled(1, 'processing')], outcome({ [GEN(1)]: row(), [GEN(2)]: row() })),
    ).toEqual(['I6'])
  })

  it('I6: two that polls show running in turns', () => {
    const lost = exchange({ what: 'submit', tag: 't2', batch: 1, key: 'k' }, 'broken')
    const history = [lost, submitted(1), submitted(2, { key: 'k' }), polled(1, 'processing'), polled(2, 'queued')]
    expect(judged(history, outcome({ [GEN(1)]: row(), [GEN(2)]: row() }), true)).toEqual(['I6'])
  })

  it('nothing where two users have one each', () => {
    const history = [submitted(1), submitted(2, { user: 'bob' }), polled(1, 'queued'), polled(2, 'queued')]
    expect(judged(history, outcome({ [GEN(1)]: row(), [GEN(2)]: row({ user: 'bob' }) }))).toEqual([])
  })

  it('I9: a user who stays locked out', () => {
    expect(judged([], outcome({}, { nextSubmit: new Map([['ann', 429]]) }))).toEqual(['I9'])
  })
})

describe('the checker reports, about promises,', () => {
  it('I7: an acknowledged generation that a poll does not find', () => {
    const missing = exchange({ what: 'poll', id: GEN(1) }, answered(404, { error: 'Not found.' }))
    expect(judged([submitted(1), missing])).toEqual(['I7'])
  })

  it('I7: an acknowledged generation without a row', () => {
    expect(judged([submitted(1)], outcome())).toEqual(['I7'])
  })

  it('I8: a generation that never ends', () => {
    expect(judged([], outcome({ [GEN(1)]: row({ status: 'processing' }) }))).toEqual(['I8'])
  })

  it('I10: fewer images than asked for', () => {
    expect(judged([submitted(1, { batch: 2 }), polled(1, 'succeeded')])).toEqual(['I10'])
  })

  it('I10: an image that is not there, not whole, or another one later', () => {
    const missing = exchange(
      { what: 'image', url: 'http://easel/cdn/b.png', sizes: [256] },
      answered(404, { error: 'No.' }),
    )
    const torn = exchange({ what: 'image', url: 'http://easel/cdn/c.png', sizes: [256] }, answered(200, undefined))
    const other = fetched({ image: { sha256: 'b', width: 256, height: 256 } })
    expect(judged([missing, torn, fetched(), other])).toEqual(['I10', 'I10', 'I10'])
  })

  it.each([
    ['runs again after its end', [submitted(1), polled(1, 'succeeded'), polled(1, 'processing')]],
    ['goes on after its cancel', [submitted(1), polled(1, 'queued', { what: 'cancel' })]],
    ['ends in two ways', [submitted(1), polled(1, 'succeeded'), polled(1, 'failed')]],
    [
      'changes its images',
      [submitted(1), polled(1, 'succeeded'), polled(1, 'succeeded', { urls: ['http://easel/cdn/z.png'] })],
    ],
    ['has another seed at its end', [submitted(1), polled(1, 'succeeded', { seed: 8 })]],
    ['is told anew with another seed', [submitted(1, { key: 'k' }), submitted(1, { key: 'k', seed: 8 })]],
  ])('I11: a generation that %s', (_what, history) => {
    expect(judged(history)).toEqual(['I11'])
  })

  it('I11: an end that a stream tells differently than a poll', () => {
    const end = { event: 'end', data: { id: GEN(1), status: 'failed', error: 'No.' } }
    const told = exchange({ what: 'events', id: GEN(1) }, { ...answered(200, undefined), events: [end] })
    expect(judged([submitted(1), polled(1, 'succeeded'), told])).toEqual(['I11'])
  })

  it('a stream that tells nothing, or what none may tell, while nothing is out of order', () => {
    const rumour = { event: 'rumour', data: {} }
    const telling = (events: object[]) =>
      exchange({ what: 'events', id: GEN(1) }, { ...answered(200, undefined), events: events as never })
    expect(judged([submitted(1), telling([])])).toEqual(['stream'])
    expect(judged([submitted(1), telling([])], undefined, true)).toEqual([])
    expect(judged([submitted(1), telling([rumour])], undefined, true)).toEqual(['stream'])
  })

  it('I11: an end that the row does not have', () => {
    expect(judged([submitted(1), polled(1, 'succeeded')], outcome({ [GEN(1)]: row({ status: 'failed' }) }))).toEqual([
      'I11',
    ])
  })
})

describe('the checker reports, about limits of a key,', () => {
  const limited: Asked = { what: 'submit', tag: 't', batch: 1, limit: 6 }

  it('a 402 that names another limit, or none', () => {
    const sentence = (limit: number) => `This API key may spend ${limit} credits a month and has spent 6: this needs 1.`
    expect(judged([exchange(limited, answered(402, { error: sentence(6) }))])).toEqual([])
    expect(judged([exchange(limited, answered(402, { error: sentence(60) }))])).toEqual(['limit'])
    expect(judged([exchange(limited, answered(402, { error: 'You need 1 credit and have 0.' }))])).toEqual(['limit'])
  })

  it('a submit with a model that it may not use, unless that is refused', () => {
    const forbidden: Asked = { ...limited, isForbidden: true }
    expect(judged([{ ...submitted(1), asked: forbidden }])).toEqual(['limit'])
    expect(judged([exchange(forbidden, answered(403, { error: 'Not this model.' }))])).toEqual([])
  })
})

describe('the checker reports, about acts of an operator,', () => {
  it('an answer that is none of those expected', () => {
    const act: Asked = { what: 'act', name: 'make a key', statuses: [201, 409] }
    expect(judged([exchange(act, answered(201, {})), exchange(act, answered(409, { error: 'Wait.' }))])).toEqual([])
    expect(judged([exchange(act, answered(404, { error: 'No user.' }))])).toEqual(['admin'])
  })
})

describe('the checker reports, about answers,', () => {
  const submit: Asked = { what: 'submit', tag: 't', batch: 1 }

  it.each([
    ['none at all', exchange(submit, 'timeout')],
    ['a broken connection', exchange(submit, 'broken')],
    ['a 503', exchange(submit, answered(503, { error: 'Later.' }))],
    ['a 500', exchange(submit, answered(500, { error: 'Oh.' }))],
    ['an error in a form of its own', exchange(submit, answered(400, { message: 'No.' }))],
    [
      'an error of the other interface',
      exchange({ what: 'create', tag: 't', metered: false }, answered(402, { error: 'No.' })),
    ],
    ['a 429 without Retry-After', exchange(submit, answered(429, { error: 'No.' }, { retryAfter: undefined }))],
    ['no x-request-id', exchange(submit, answered(400, { error: 'No.' }, { requestId: undefined }))],
    [
      'another status to bad input',
      exchange({ what: 'probe', name: 'NUL', status: 400, createImage: false }, answered(404, { error: 'No.' })),
    ],
    ['half of a submit', exchange(submit, answered(201, { id: GEN(1) }))],
  ])('I13: %s while nothing is out of order', (_what, each) => {
    expect(judged([each])).toContain('I13')
  })

  it('a page that may be shown in faults alone, while nothing is out of order', () => {
    const asked: Asked = { what: 'page', name: 'a private file', statuses: [404], inFaults: [200], mark: 'm' }
    const shown = exchange(asked, answered(200, {}))
    expect(judged([shown])).toContain('page')
    expect(judged([shown], undefined, true)).not.toContain('page')
    const never = exchange({ ...asked, inFaults: undefined }, answered(200, {}))
    expect(judged([never], undefined, true)).toContain('page')
  })

  it('internal errors in a list of their own, even where they are excused', () => {
    const checker = historyChecker(() => true, SECRET)
    checker.add(exchange(submit, answered(500, { error: 'Oh.' })))
    expect(checker.violations).toEqual([])
    expect(checker.internalErrors).toHaveLength(1)
  })

  it('nothing where a generation of Create Image failed', () => {
    const failed = answered(500, { success: false, error: { code: 'generation_failed', message: 'Sorry.' } })
    expect(judged([exchange({ what: 'create', tag: 't', metered: false }, failed)])).toEqual([])
  })

  it('I16: an error that repeats the prompt', () => {
    expect(judged([exchange(submit, answered(400, { error: 'What is a quokkaverb?' }))])).toEqual(['I16'])
  })
})
