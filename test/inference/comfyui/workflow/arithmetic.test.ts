import { describe, expect, it } from 'vitest'
import { evaluate } from '../../../../src/inference/comfyui/workflow/arithmetic.js'

const values = new Map([
  ['a', 1000],
  ['b', -7],
])
const result = (expression: string) => evaluate(expression, (name) => values.get(name))

describe('an expression of a math node', () => {
  it.each([
    ['a', 1000],
    ['a * 2 + 1', 2001],
    ['1 + 2 * 3 - 4 / 2', 5],
    ['(1 + 2) * -(3 - 4)', 3],
    ['--2', 2],
    ['max(((a + 15) // 16) * 16, 256)', 1008],
    ['max(4, (int(a) // 16) * 16)', 992],
    ['floor(a/32)*32', 992],
    ['a & -8', 1000],
    ['ceil(a / 3)', 334],
    ['min(abs(b), 16, 9)', 7],
    ['b // 2', -4],
    ['b % 4', 1],
    ['0.5 * a', 500],
  ])('%s is %d', (expression, value) => {
    expect(result(expression)).toBe(value)
  })

  it.each([
    ...['', 'c', 'a b', '1 +', '(a', 'a)', 'max(', 'max', 'a ** 2', 'a > 2', 'a if a else 1', 'a / 0'],
    ...['__import__("os")', 'constructor', 'constructor(1)', 'toString()', "a['b']", 'a.b', '1e5', 'a;a', 'a = 1'],
    ...['('.repeat(5000), `${'a + '.repeat(5000)}a`],
  ])('%s is nothing', (expression) => {
    expect(result(expression)).toBeUndefined()
  })
})
