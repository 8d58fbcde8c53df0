import { expect, it } from 'vitest'
import { streamFaults } from './stream-checker.js'

const status = (is: string, more: object = {}) => ({ event: 'status', data: { id: 'gen_1', status: is, ...more } })
const QUEUED = status('queued', { queue_position: 2 })
const RUNNING = status('processing')
const END = { event: 'end', data: { id: 'gen_1', status: 'failed', error: 'Canceled.' } }
const progress = (of: number) => ({ event: 'progress', data: { progress: of } })
const place = (of: number) => ({ event: 'queue_position', data: { queue_position: of } })
const preview = (image: string) => ({ event: 'preview', data: { image } })
const WEBP = 'data:image/webp;base64,'

it('finds no fault with a stream as it should be, though the worker died meanwhile', () => {
  const events = [QUEUED, place(1), RUNNING, progress(0.5), preview(`${WEBP}AAAA`), QUEUED, RUNNING, progress(0.1), END]
  expect(streamFaults('gen_1', events)).toEqual([])
  expect(streamFaults('gen_1', [QUEUED])).toEqual([])
})

it.each([
  ['begins with something else', [progress(0.5)]],
  ['says more after its end', [END, RUNNING]],
  ['ends with what is no end', [{ ...RUNNING, event: 'end' }]],
  ['tells the end as a mere status', [{ ...END, event: 'status' }]],
  ['tells of another generation', [{ event: 'status', data: { id: 'gen_2', status: 'processing' } }]],
  ['tells a status in a form of its own', [status('queued')]],
  ['goes back', [RUNNING, progress(0.5), progress(0.4)]],
  ['goes beyond the end', [RUNNING, progress(1.01)]],
  ['gives no number', [RUNNING, { event: 'progress', data: {} }]],
  ['gives a place before the first', [QUEUED, place(0)]],
  ['shows something else than a preview', [RUNNING, preview('https://x.example/')]],
  ['shows too large a preview', [RUNNING, preview(WEBP + 'A'.repeat(24 * 1024))]],
  ['says something unknown', [RUNNING, { event: 'rumour', data: {} }]],
])('notices a stream that %s', (_what, events) => {
  expect(streamFaults('gen_1', events)).toHaveLength(1)
})
