import { parse } from 'csv-parse/sync'
import { expect, it } from 'vitest'
import { csvOf } from '../../src/lib/csv.js'

it('writes what a reader of CSV reads again', () => {
  const rows = [
    ['plain', 'with "quotes", commas\nand lines', 'größer', '', ' spaces '],
    ['a', 'b', 'c', 'd', 'e'],
  ]
  expect(parse(csvOf(['one', 'two', 'three', 'four', 'five'], rows))).toEqual([
    ['one', 'two', 'three', 'four', 'five'],
    ...rows,
  ])
  expect(csvOf(['n', 'none'], [[-12.5, null]])).toBe('n,none\r\n-12.5,\r\n')
})

it.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  [' =1', " '=1"],
  ['\t=1', "\t'=1"],
  ['＝1', "'＝1"],
  // A spreadsheet that separates by semicolons, or does not honour the quotes, begins a cell there.
  ['a;=1', "a;'=1"],
  ['a,"=1', `a,"'=1`],
  ['a\n-1', "a\n'-1"],
])('makes a formula of %j inert', (text, inert) => {
  expect(parse(csvOf(['name'], [[text]]))[1]).toEqual([inert])
})

it('leaves signs within a text, and numbers below zero, as they are', () => {
  expect(csvOf(['a', 'b'], [['a-b=c@d', -3]])).toBe('a,b\r\na-b=c@d,-3\r\n')
})
