import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { timeLimit } from '../src/abort-signals.js'
import { within } from './support/until.js'

it('ends at its time, also when nothing but its listeners holds it and the garbage collector runs', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const ended = once(timeLimit(new AbortController().signal, 30).signal, 'abort')
  gc()
  await within(10_000, ended, 'the signal')
})

it('says whether the limit or the outer signal ended it', async () => {
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
