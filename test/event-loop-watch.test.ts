import { pino } from 'pino'
import { expect, it } from 'vitest'
import { watchEventLoop } from '../src/entry.js'
import { until } from './support/until.js'

const block = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; );
}

it('warns when the process could do nothing for more than a second, and tells for how long', async () => {
  const warnings: { level: number; stoodStillMs: number; msg: string }[] = []
  const log = pino({}, { write: (line) => void warnings.push(JSON.parse(line)) })
  const stop = watchEventLoop(log)
  block(2000)
  await until(() => warnings.length > 0, 'the warning')
  expect(warnings[0]).toMatchObject({ level: 40, msg: 'the event loop stood still' })
  // It may have begun to stand still up to half a second before the next look was due.
  expect(warnings[0]?.stoodStillMs).toBeGreaterThanOrEqual(1450)
  stop()
})
