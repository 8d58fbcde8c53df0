import { pino } from 'pino'
import { expect, it } from 'vitest'
import { watchEventLoop } from '../src/process/run-process.js'
import { until } from './support/until.js'

const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

it('a process that could do nothing for more than a second warns, and says for how long', async () => {
  const warnings: { level: number; stoodStillMs: number; msg: string }[] = []
  const log = pino({}, { write: (line) => void warnings.push(JSON.parse(line)) })
  const stop = watchEventLoop(log)
  block(1600)
  await until(() => warnings.length > 0, 'the warning')
  expect(warnings[0]).toMatchObject({ level: 40, msg: 'the event loop stood still' })
  // It may have begun to stand still up to half a second before the next look was due.
  expect(warnings[0]?.stoodStillMs).toBeGreaterThanOrEqual(1000)
  stop()
})
