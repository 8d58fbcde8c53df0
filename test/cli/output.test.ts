import { expect, it } from 'vitest'
import { table } from '../../src/cli/output.js'

it('a table stands in columns, whatever the width of its letters', () => {
  const rows = ['plain', 'Zoë', 'Zoe\u0308', '東京', 'ｆｕｌｌ', '한국', '🦊', '👩‍🎨', '❤️', 'e\u0301', '𠮷'].map(
    (name) => ({ name, n: 1 }),
  )
  const columns = {
    ...{
      plain: 5,
      Zoë: 3,
      'Zoe\u0308': 3,
      東京: 4,
      ｆｕｌｌ: 8,
      한국: 4,
      '🦊': 2,
      '👩‍🎨': 2,
      '❤️': 2,
      'e\u0301': 1,
      𠮷: 2,
    },
  }
  const [, ...lines] = table(rows).split('\n')
  expect(lines).toEqual(Object.entries(columns).map(([name, width]) => `${name}${' '.repeat(8 - width)}  1`))
})
