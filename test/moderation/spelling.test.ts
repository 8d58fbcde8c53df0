import { describe, expect, it } from 'vitest'
import { toCells } from '../../src/moderation/engine/cells.js'
import { corrected, createSpelling } from '../../src/moderation/engine/spelling.js'

const meant = createSpelling(['zorblax', 'kreel'], new Set(['krel']))
const textOf = (text: string) => {
  const cells = corrected(toCells(text), meant)?.cells
  return cells?.options
    .map(([letter], i) => ((cells.gaps[i] as number) > 0 ? ' ' : '') + String.fromCodePoint(letter as number))
    .join('')
}

describe('corrected', () => {
  it.each(['zrblax', 'zorbla', 'zrorblax', 'zorbxlax', 'zorblaxt', 'ozrblax', 'zobrlax', 'zorblxa'])(
    'puts "%s" right',
    (written) => {
      expect(textOf(`a ${written}, kite`)).toBe('a zorblax kite')
      expect(textOf(written)).toBe('zorblax')
    },
  )

  it('puts several words right, and keeps the others', () => {
    expect(textOf('The kreell, a Zorblx! 12 kites')).toBe('the kreel a zorblax! 12 kites')
  })

  it.each(['zorblax', 'kreels', 'krel', 'orblax', 'zorbl x', 'zorbl', 'zqrblax', 'a kite', ''])(
    'leaves "%s" as it is',
    (text) => {
      expect(textOf(text)).toBeUndefined()
    },
  )
})
