import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), 'utf8') }))

// Events of a queue get lost, on Postgres one in forty under load; whoever waited for one would wait for ever.
describe('Easel’s use of BullMQ', () => {
  it('consists of queues and workers, never of streams of events: whoever waits for a generation asks Postgres', () => {
    const using = sources.filter(({ text }) => text.includes("from 'bullmq'"))
    expect(using.length).toBeGreaterThan(1)
    const waiting = sources.filter(({ text }) => /QueueEvents|waitUntilFinished|import\('bullmq'\)/.test(text))
    expect(waiting.map(({ file }) => file)).toEqual([])
  })

  it('listens to no event of a worker but those of errors', () => {
    const worker = sources.find(({ file }) => file.endsWith('job-worker.ts'))
    const heard = [...(worker?.text ?? '').matchAll(/worker\.(?:on|once|addListener)\('(\w+)'/g)].map(
      ([, event]) => event,
    )
    expect(heard).toEqual(['error', 'failed'])
  })
})
