import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { compiled } from '../support/services.js'

const LENGTHS = [500, 2000] as const

/** What has made matchers slow elsewhere: near misses repeated, layers to peel, ages without end. */
const HOSTILE = [
  ...['x', '(a:1.1)', '<lora:', '\u202ea', 'a\u0301', 'ﷺ', 'ﬃ', 'ロ', '아', '😀', '_'],
  ...['nude ', 's.e.x.u.a.l c.h.i.l ', 'sixteen ', '9 ', 'twenty-', 'aged '],
  // number words, halves of phrases, hyphens
  ...['two ', 'seven-', 'twenty one years ', 'hundred ', 'sechzehn ', 'шестнадцать ', '十六', 'xvi ', '1-', '➀➁'],
  ...[
    'naked ',
    'eye-',
    'years ',
    'just turned ',
    'too young to ',
    'th grade ',
    'born 2014 ',
    'girl. 9, ',
    'born. 2014 ',
  ],
  ...['-', '- ', 'a-', 'x - ', 's-e-x-', 's - e - x '],
  // misspelt words, and what can be read as many words
  ...['twent-', 'sixten ', 'girll nudee ', 's*', 's*\u202e', '\u202es*\u202c', 'xxxx', 'c*h*l*d*'],
]
/** How often V8 enters a function or loop for each character of a prompt that is its negative prompt, too. */
const MOST_WORK = 3000

/** The part again and again: whole, because half of one at the end is another word. */
const filled = (part: string, length: number) => part.repeat(Math.ceil(length / [...part].length))

/** One word wrong, at the end of a text that has no other. */
const [RIGHT, WRONG] = ['twenty', 'twent'].map((end) => `${'a lighthouse, twenty-'.repeat(95)}${end}`) as [
  string,
  string,
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
    const prompts = [...HOSTILE.flatMap((part) => LENGTHS.map((length) => filled(part, length))), RIGHT, WRONG]
    // Of patterns that backtrack V8 counts nothing: they would not end.
    const hanging = setTimeout(() => child.kill('SIGKILL'), 100_000)
    child.stdin.end(JSON.stringify(prompts))
    const counted: number[] = JSON.parse(await text(child.stdout))
    clearTimeout(hanging)
    for (const [n, part] of HOSTILE.entries()) work.set(part, counted.slice(2 * n, 2 * n + 2))
    for (const [n, text] of [RIGHT, WRONG].entries()) work.set(text, counted.slice(2 * HOSTILE.length + n))
  })

  it.each(HOSTILE)('takes work in proportion to its length if it repeats %j', (part) => {
    const [ofShort = 0, ofLong = 0] = work.get(part) ?? []
    expect(ofShort).toBeGreaterThan(10)
    // Four times the length; work that grows with the square would be sixteen times as much.
    expect(ofLong).toBeLessThan(6 * ofShort)
    expect(ofLong).toBeLessThan(MOST_WORK * LENGTHS[1])
    if (process.env.SHOW_FIGURES) console.log(`${JSON.stringify(part)}: ${ofShort}, ${ofLong}`)
  })
  it('takes little more work for one misspelt word', () => {
    const [[ofRight = 0] = [], [ofWrong = 0] = []] = [work.get(RIGHT), work.get(WRONG)]
    expect(ofRight).toBeGreaterThan(10)
    expect(ofWrong).toBeLessThan(1.4 * ofRight)
    if (process.env.SHOW_FIGURES) console.log(`right: ${ofRight}, one word misspelt: ${ofWrong}`)
  })
})
