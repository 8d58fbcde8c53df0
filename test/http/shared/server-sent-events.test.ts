import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { EventStream } from '../../../src/http/shared/server-sent-events.js'

/** Everything that a reader gets who reads on. */
async function readAll(stream: EventStream): Promise<string[]> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString().split('\n\n').slice(0, -1)
}

describe('a stream of events', () => {
  it('writes events and comments as browsers read them, and when to come back', async () => {
    const stream = new EventStream(2000)
    stream.send('status', { status: 'queued' })
    stream.comment('still here')
    stream.sendLatest('progress', { progress: 0.5 })
    stream.end({ event: 'end', data: { status: 'failed', error: 'two\nlines' } })
    expect(await readAll(stream)).toEqual([
      'retry: 2000',
      'event: status\ndata: {"status":"queued"}',
      ': still here',
      'event: progress\ndata: {"progress":0.5}',
      'event: end\ndata: {"status":"failed","error":"two\\nlines"}',
    ])
  })

  it('keeps for a slow reader only the latest preview, progress and comment', async () => {
    const stream = new EventStream(2000)
    const image = 'x'.repeat(20_000)
    for (let n = 1; n <= 1000; n++) {
      stream.sendLatest('preview', { n, image })
      stream.sendLatest('progress', { progress: n })
      stream.comment('still here')
    }
    expect(stream.readableLength).toBeLessThan(64 * 1024)
    stream.once('data', () => setImmediate(() => stream.end({ event: 'end', data: {} })))
    const events = await readAll(stream)
    const previews = events.filter((event) => event.startsWith('event: preview'))
    expect(previews.map((event) => /"n":(\d+)/.exec(event)?.[1])).toEqual(['1', '1000'])
    expect(events.filter((event) => event.startsWith('event: progress'))).toEqual([
      'event: progress\ndata: {"progress":1000}',
    ])
    expect(events.at(-1)).toBe('event: end\ndata: {}')
  })

  it('drops what still waits once an event comes that must arrive', async () => {
    const stream = new EventStream(2000)
    stream.sendLatest('preview', { image: 'x'.repeat(20_000) })
    stream.sendLatest('queue_position', { queue_position: 3 })
    stream.send('status', { status: 'processing' })
    stream.end('restarting')
    const events = await readAll(stream)
    expect(events.slice(-2)).toEqual(['event: status\ndata: {"status":"processing"}', ': restarting'])
    expect(events.join()).not.toContain('queue_position')
  })

  it('says nothing more once it is over, or its reader is gone', async () => {
    const over = new EventStream(2000)
    over.end('first')
    over.end('second')
    over.send('status', {})
    expect(await readAll(over)).toEqual(['retry: 2000', ': first'])
    const gone = new EventStream(2000)
    gone.destroy()
    await once(gone, 'close')
    gone.send('status', {})
    gone.sendLatest('progress', {})
    gone.end('late')
    expect(gone.destroyed).toBe(true)
  })
})
