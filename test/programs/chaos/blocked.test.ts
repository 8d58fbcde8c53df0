import { describe, expect, it } from 'vitest'
import { spells } from './blocked.js'

const refused = (from: number) => ({ from, to: from + 10 })

describe('the time for which a user was locked out', () => {
  it('counts no refusal while a generation was active', () => {
    expect(spells([refused(0), refused(100)], [{ from: 5, to: 105 }])).toEqual([])
  })

  it('lasts from the first refusal with nothing active to the last one', () => {
    expect(spells([refused(0), refused(100), refused(400), undefined], [{ from: 0, to: 50 }])).toEqual([310])
  })

  it('ends where a submit was accepted, or rightly refused', () => {
    expect(spells([refused(0), undefined, refused(100)], [])).toEqual([10, 10])
    expect(spells([refused(0), refused(100), refused(200)], [{ from: 90, to: 120 }])).toEqual([10, 10])
  })
})
