import { describe, expect, it } from 'vitest'
import { createModerator } from '../../src/moderation/create-moderator.js'

const moderator = createModerator({})
const LENGTHS = [500, 2000] as const

/** What has made matchers slow elsewhere: near misses repeated, layers to peel, ages without end. */
const HOSTILE = [
  ...['x', '(a:1.1)', '<lora:', '\u202ea', 'a\u0301', 'ﷺ', 'ﬃ', 'ロ', '아', '😀', '_'],
  ...['nude ', 's.e.x.u.a.l c.h.i.l ', 'sixteen ', '9 ', 'twenty-', 'aged '],
]

/** The least of several, in milliseconds of this process alone: whatever else the machine does is not counted. */
async function costOf(prompt: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < 6; n++) {
    const before = process.cpuUsage()
    await moderator.review({ prompt, negativePrompt: prompt, nsfwModel: true })
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

describe('judging a prompt', () => {
  it.each(HOSTILE)('takes time in proportion to its length, whatever it repeats: %j', async (part) => {
    const [short, long] = LENGTHS.map((length) => [...part.repeat(length)].slice(0, length).join('')) as [
      string,
      string,
    ]
    const [ofShort, ofLong] = [await costOf(short), await costOf(long)]
    // Four times the length; work that grows with the square would take sixteen times as long.
    expect(ofLong).toBeLessThan(12 * Math.max(0.2, ofShort))
    // Nobody else is served meanwhile.
    expect(ofLong).toBeLessThan(50)
  })
})
