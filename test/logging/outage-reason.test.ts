import { pino } from 'pino'
import { expect, it } from 'vitest'
import { createLogger, outageLog } from '../../src/process/logger.js'
import { until } from '../support/until.js'

const refused = (address: string) =>
  Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED', syscall: 'connect' })
const both = () => new AggregateError([refused('::1:1'), refused('127.0.0.1:1')])
const REASON = 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1'

it.each([
  ['a name with two addresses', both(), REASON],
  ['what says nothing, and then a reason', refused('127.0.0.1:1'), 'connect ECONNREFUSED 127.0.0.1:1'],
])('an outage is told of with the reason of %s', async (_, error, reason) => {
  const lines: string[] = []
  const outage = outageLog(pino({}, { write: (line) => void lines.push(line) }), 'postgres')
  outage.failed('pool', new Error(''))
  outage.failed('pool', error)
  await until(() => lines.length > 0, 'its line')
  expect(JSON.parse(lines[0] as string)).toMatchObject({ reason })
})

it.each([
  ['of several addresses', both(), { type: 'AggregateError', message: REASON }],
  [
    'of several addresses behind a cause',
    new Error('fetch failed', { cause: both() }),
    { message: REASON, outer: 'fetch failed' },
  ],
  ['that says nothing', new Error(''), { message: 'no reason was given' }],
  ['that is no Error', 'gone', 'gone'],
])('a line about an error %s says why', (_, err, told) => {
  const lines: string[] = []
  createLogger('info', 'test', undefined, { write: (text) => void lines.push(text) }).warn({ err }, 'failed')
  const { err: shown } = JSON.parse(lines[0] as string)
  if (typeof told === 'string') expect(shown).toBe(told)
  else expect(shown).toMatchObject(told)
})

it('a line about errors that cause each other is written', () => {
  const lines: string[] = []
  const own = new Error('own')
  own.cause = own
  createLogger('info', 'test', undefined, { write: (text) => void lines.push(text) }).warn({ err: own }, 'failed')
  expect(JSON.parse(lines[0] as string)).toMatchObject({ err: { message: 'own' } })
})
