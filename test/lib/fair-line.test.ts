import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fairLine } from '../../src/lib/fair-line.js'
import { seedOf } from '../support/effort.js'

const SEED = seedOf(20261129)
/** Node 20 has no Promise.withResolvers. */
function withResolvers() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

const full = () => new Error('full')

/** All ask while the first one is at work, which ends when told to. Resolves to who was served, in order, and who was sent away. */
async function crowd(mostWaiting: number, askers: readonly string[]) {
  const turn = fairLine({ atOnce: 1, mostWaiting }, full)
  const { promise: ended, resolve: end } = withResolvers()
  const first = turn(['first'], () => ended)
  const served: string[] = []
  const sentAway: string[] = []
  const all = askers.map((asker) =>
    turn(asker.split('/'), async () => void served.push(asker)).catch(() => void sentAway.push(asker)),
  )
  await new Promise(setImmediate)
  end()
  await Promise.all([first, ...all])
  return { served, sentAway }
}

it('serves the groups in turn, and within each its own groups', async () => {
  const { served } = await crowd(20, ['a/1', 'a/1', 'a/1', 'a/2', 'b/1', 'b/1', 'c/1'])
  expect(served.join(' ')).toBe('a/1 b/1 c/1 a/2 b/1 a/1 a/1')
})

it('sends the last one of the largest group away for one of a smaller one', async () => {
  const { served, sentAway } = await crowd(4, ['a/1', 'a/2', 'a/2', 'b/1', 'c/1', 'd/1', 'e/1'])
  expect(sentAway.sort()).toEqual(['a/2', 'a/2', 'e/1'])
  expect(served).toEqual(['a/1', 'b/1', 'c/1', 'd/1'])
})

it('sends who comes from the largest group away, unless it is of a smaller group there', async () => {
  expect((await crowd(3, ['a/1', 'a/1', 'a/1', 'a/1'])).sentAway).toEqual(['a/1'])
  const { served, sentAway } = await crowd(3, ['a/1', 'a/1', 'a/1', 'a/2'])
  expect([sentAway, served]).toEqual([['a/1'], ['a/1', 'a/2', 'a/1']])
})

it('does so much at once, and no more', async () => {
  const turn = fairLine({ atOnce: 2, mostWaiting: 5 }, full)
  let atWork = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++atWork)
    await new Promise(setImmediate)
    atWork--
  }
  await Promise.all(Array.from({ length: 6 }, () => turn(['a'], work)))
  expect(most).toBe(2)
})

it('goes on after work that fails', async () => {
  const turn = fairLine({ atOnce: 1, mostWaiting: 5 }, full)
  await expect(turn(['a'], () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await turn(['a'], async () => 7)).toBe(7)
})

it('serves or sends away each once, one at a time, and nobody of a group that is alone with few in it is sent away', async () => {
  const asker = fc.tuple(fc.constantFrom(...'abc'), fc.constantFrom(...'12'), fc.constantFrom(...'xy'))
  await fc.assert(
    fc.asyncProperty(fc.array(asker, { maxLength: 40 }), fc.integer({ min: 4, max: 12 }), async (askers, most) => {
      const names = askers.map((it) => it.join('/'))
      const { served, sentAway } = await crowd(most, names)
      expect([...served, ...sentAway].sort()).toEqual([...names].sort())
      expect(served.length).toBe(Math.min(most, names.length))
      // A group has its fair share at least, unless it asked for less.
      for (const group of 'abc') {
        const asked = names.filter((it) => it.startsWith(group)).length
        const got = served.filter((it) => it.startsWith(group)).length
        expect(got).toBeGreaterThanOrEqual(Math.min(asked, Math.floor(most / 3)))
      }
    }),
    { seed: SEED, numRuns: 200 },
  )
})
