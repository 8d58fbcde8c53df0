import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { compiled } from '../support/services.js'

const LENGTHS = [500, 2000] as const

/** What has made matchers slow elsewhere: near misses repeated, layers to peel, ages without end. */
const HOSTILE = [
  ...['x', '(a:1.1)', '<lora:', '\u202ea', 'a\u0301', 'ﷺ', 'ﬃ', 'ロ', '아', '😀', '_'],
  ...['nude ', 's.e.x.u.a.l c.h.i.l ', 'sixteen ', '9 ', 'twenty-', 'aged '],
]

/**
 * Reads prompts as JSON and writes how much V8 executes to judge each: how often it enters functions and loops, which
 * does not depend on the machine. A process of its own, because it counts for a whole one.
 */
const counter = (moderator: string) => `
  import { Session } from 'node:inspector/promises'
  import { text } from 'node:stream/consumers'
  import { createModerator } from ${JSON.stringify(moderator)}
  const prompts = JSON.parse(await text(process.stdin))
  const moderator = createModerator({})
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const counted = []
  for (const prompt of prompts) {
    await session.post('Profiler.takePreciseCoverage')
    await moderator.review({ prompt, negativePrompt: prompt, nsfwModel: true })
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ranges = result.flatMap(({ url, functions }) => url.startsWith('file:') ? functions.flatMap((it) => it.ranges) : [])
    counted.push(ranges.reduce((sum, { count }) => sum + count, 0))
  }
  process.stdout.write(JSON.stringify(counted))`

describe('judging a prompt', () => {
  /** By what is repeated: for each of the lengths. */
  const work = new Map<string, number[]>()
  beforeAll(async () => {
    const code = counter(await compiled('src/moderation/create-moderator.ts'))
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const prompts = HOSTILE.flatMap((part) =>
      LENGTHS.map((length) => [...part.repeat(length)].slice(0, length).join('')),
    )
    // Of patterns that backtrack V8 counts nothing: they would not end.
    const hanging = setTimeout(() => child.kill('SIGKILL'), 100_000)
    child.stdin.end(JSON.stringify(prompts))
    const counted: number[] = JSON.parse(await text(child.stdout))
    clearTimeout(hanging)
    for (const [n, part] of HOSTILE.entries()) work.set(part, counted.slice(2 * n, 2 * n + 2))
  })

  it.each(HOSTILE)('takes work in proportion to its length if it repeats %j', (part) => {
    const [ofShort = 0, ofLong = 0] = work.get(part) ?? []
    expect(ofShort).toBeGreaterThan(10)
    // Four times the length; work that grows with the square would be sixteen times as much.
    expect(ofLong).toBeLessThan(6 * ofShort)
    if (process.env.SHOW_FIGURES) console.log(`${JSON.stringify(part)}: ${ofShort}, ${ofLong}`)
  })
})
