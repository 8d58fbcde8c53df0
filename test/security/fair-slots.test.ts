import { setTimeout as after } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFairSlots, type FairSlots } from '../../src/http/shared/fair-slots.js'
import { effort, seedOf } from '../support/effort.js'

const PATIENT = 60_000
const SEED = seedOf(20261121)

const enter = async (slots: FairSlots, holder: string) => slots.take(holder) ?? slots.wait(holder)

/** Everybody asks at once; each leaves when told to. */
function crowd(limits: { total: number; perHolder: number; patienceMs?: number }, holders: readonly string[]) {
  const slots = createFairSlots({ patienceMs: PATIENT, ...limits })
  const inside: { holder: string; leave: () => void }[] = []
  const order: string[] = []
  for (const holder of holders) {
    void enter(slots, holder).then((leave) => {
      if (!leave) return
      order.push(holder)
      inside.push({ holder, leave })
    })
  }
  return { slots, inside, order, settled: () => after(0) }
}

describe('request slots', () => {
  it('are given at once while there are any, but to no holder more than its share', async () => {
    const { order, settled } = crowd({ total: 5, perHolder: 3 }, [...'aaaaabbbb'])
    await settled()
    expect(order).toEqual([...'aaabb'])
  })

  it('go to the waiting holders in turn, however many requests one of them has sent', async () => {
    const { inside, order, settled } = crowd({ total: 1, perHolder: 1 }, [...'aaaaaabbc'])
    for (let n = 0; n < 9; n++) {
      await settled()
      inside.pop()?.leave()
    }
    await settled()
    expect(order.join('')).toBe('aabcabaaa')
  })

  it('are given back once, even if their holder leaves twice', async () => {
    const { inside, order, settled } = crowd({ total: 1, perHolder: 1 }, [...'abc'])
    await settled()
    const first = inside.pop()
    first?.leave()
    first?.leave()
    await settled()
    expect(order).toEqual(['a', 'b'])
  })

  it('are not waited for beyond the limit, and not given to a request that has given up', async () => {
    const { slots, inside, settled } = crowd({ total: 1, perHolder: 1, patienceMs: 30 }, ['a'])
    await settled()
    expect(await Promise.all([enter(slots, 'a'), enter(slots, 'b')])).toEqual([undefined, undefined])
    inside.pop()?.leave()
    expect(slots.take('b')).toBeTypeOf('function')
  })

  it(`are never more than there are, and all free again when all holders have left (seed ${SEED})`, async () => {
    const visits = fc.array(fc.tuple(fc.constantFrom(...'abcd'), fc.nat(6)), { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(
        visits,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (all, total, perHolder) => {
          const slots = createFairSlots({ total, perHolder, patienceMs: PATIENT })
          const inside = new Map<string, number>()
          let most = 0
          await Promise.all(
            all.map(async ([holder, ticks]) => {
              const leave = await enter(slots, holder)
              inside.set(holder, (inside.get(holder) ?? 0) + 1)
              expect(inside.get(holder)).toBeLessThanOrEqual(perHolder)
              most = Math.max(
                most,
                [...inside.values()].reduce((sum, count) => sum + count, 0),
              )
              for (let n = 0; n < ticks; n++) await Promise.resolve()
              inside.set(holder, (inside.get(holder) ?? 0) - 1)
              leave?.()
            }),
          )
          expect(most).toBeLessThanOrEqual(total)
          // Everyone came in, so nobody is left behind in a line.
          expect([...inside.values()].every((count) => count === 0)).toBe(true)
          const again = Array.from({ length: total }, (_, n) => slots.take(`new ${n}`))
          expect(again.every((leave) => leave !== undefined)).toBe(true)
        },
      ),
      { seed: SEED, numRuns: 200 * effort },
    )
  })
})
