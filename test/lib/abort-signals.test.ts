import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { timeLimit } from '../../src/lib/abort-signals.js'
import { within } from '../support/until.js'

it('a time limit aborts at its time, even if the garbage collector runs and only listeners hold it', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const ended = once(timeLimit(new AbortController().signal, 30).signal, 'abort')
  gc()
  await within(60_000, ended, 'the signal')
})

it('a time limit says whether it or the outer signal has aborted', async () => {
  const limit = timeLimit(new AbortController().signal, 1)
  await once(limit.signal, 'abort')
  expect([limit.isOver(), (limit.signal.reason as Error).name]).toEqual([true, 'TimeoutError'])

  const outer = new AbortController()
  const followed = timeLimit(outer.signal, 60_000)
  outer.abort('enough')
  followed.clear()
  expect([followed.isOver(), followed.signal.reason]).toEqual([false, 'enough'])
  const late = timeLimit(outer.signal, 60_000)
  late.clear()
  expect(late.signal.reason).toBe('enough')
})
